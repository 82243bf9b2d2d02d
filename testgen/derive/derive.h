// Derives entry states: a frame that is replayed from its recorded entry state calls the frames inside it again, and
// their states are captured as they are entered (docs/explanations/derivation.md).
#ifndef RECRASH_TESTGEN_DERIVE_DERIVE_H_
#define RECRASH_TESTGEN_DERIVE_DERIVE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "agent/base/result.h"
#include "agent/report/report.h"
#include "testgen/verify/verify.h"

namespace recrash {

struct DeriveOptions {
  VerifyOptions replay;
  double seconds = 30;  // for one replay, stops at entries included
};

struct Derivation {
  std::vector<EntryState> states;           // sorted by frame, with their arguments
  std::map<uint32_t, std::string> reasons;  // why a frame has none, in one clause
};

// Derives a state for each frame in `frames` (ReplayFrame::index) that lacks one and has a caller whose state was
// recorded; tries the nearest caller first.
// REQUIRES: options.replay.program is the build that crashed.
// An error: nothing can be replayed at all.
Result<Derivation> DeriveEntryStates(const TestReport& report, const std::vector<uint32_t>& frames,
                                     const DeriveOptions& options);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_DERIVE_DERIVE_H_
