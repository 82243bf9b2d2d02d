// Entry states of inner frames from that of an outer one: replayed from its entry, the program passes through the
// entries of all frames inside again (docs/explanations/derivation.md).
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
  double seconds = 30;  // that a replay may take, stops at entries included
};

struct Derivation {
  std::vector<EntryState> states;  // sorted by frame
  // With these a frame has to be called from its state: some of the addresses may be others than at the crash.
  std::map<uint32_t, std::vector<ReplayWord>> arguments;
  std::map<uint32_t, std::string> reasons;  // why a frame has none, in one clause
};

// Of those of `frames` (ReplayFrame::index) that have no entry state and lie inside a frame that has a recorded one; of
// several the nearest whose replay comes there. The program must be the build that crashed. An error: nothing can be
// replayed at all.
Result<Derivation> DeriveEntryStates(const Report& report, const std::vector<uint32_t>& frames,
                                     const DeriveOptions& options);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_DERIVE_DERIVE_H_
