// A pointer that a bit flipped in, found and proved, as a sentence.
//
//   if (const auto sentence = ProvedFlip(report, backtrace, symbols, replays, options)) ...
//   // "bit 37 of the pointer in rdi was flipped (0x... in place of 0x...): with it put right Node::Next returns; a
//   // fault of the machine's memory is likely"
#ifndef RECRASH_TESTGEN_FLIPS_FLIPS_H_
#define RECRASH_TESTGEN_FLIPS_FLIPS_H_

#include <optional>
#include <string>
#include <vector>

#include "agent/report/report.h"
#include "testgen/flips/put_right.h"
#include "testgen/symbols/backtrace.h"
#include "testgen/verify/verify.h"

namespace recrash {

// `replays` are frames that reproduced in the build that crashed, innermost first. Nothing if no pointer seems to be
// flipped, or no replay proves it. Text of the report is not escaped.
std::optional<std::string> ProvedFlip(const TestReport& report, const Backtrace& backtrace,
                                      const SymbolOptions& symbols, const std::vector<ReplayToFailure>& replays,
                                      const VerifyOptions& options);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_FLIPS_FLIPS_H_
