// Bits of code that were not as in the modules' files when the program failed, one sentence each.
//
//   for (const std::string& sentence : FlippedCode(report, symbols)) ...
//   // "bit 3 of the byte at app+0x1234, in Parser::Next at parser.cc:86, was flipped (0x48 in the file, 0x40 in
//   memory):
//   // a fault of the machine's memory is likely"
#ifndef RECRASH_TESTGEN_FLIPS_FLIPPED_CODE_H_
#define RECRASH_TESTGEN_FLIPS_FLIPPED_CODE_H_

#include <string>
#include <vector>

#include "agent/report/report.h"
#include "testgen/symbols/symbols.h"

namespace recrash {

// What the collector has found, and what the kept code around the failing stack shows against the files that lie here.
// Of the latter only modules with a build-id, of which the file here has the same. Text of the report is not escaped.
// REQUIRES: `symbols` were opened for this report.
std::vector<std::string> FlippedCode(const Report& report, const Symbols& symbols);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_FLIPS_FLIPPED_CODE_H_
