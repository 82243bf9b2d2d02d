// The steps that replay frames: as they are at the crash or from what was recorded at their entries, and, where that
// does not reproduce, from entry states that are derived (testgen/derive).
#ifndef RECRASH_TESTGEN_SUITE_REPLAY_H_
#define RECRASH_TESTGEN_SUITE_REPLAY_H_

#include <vector>

#include "agent/base/result.h"
#include "agent/report/report.h"
#include "testgen/suite/observer.h"
#include "testgen/verify/verify.h"

namespace recrash {

// Ascending by frame.
Result<std::vector<FrameVerdict>> ReplayFrames(const Report& report, const VerifyOptions& options, Observer* observer);

// Derives entry states for the frames that did not reproduce, or for `all`, and replays these from them. The verdict of
// a frame that reproduces then replaces the one before, and `report` has its state.
Status ReplayDerived(bool all, VerifyOptions options, Report* report, std::vector<FrameVerdict>* verdicts,
                     Observer* observer);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SUITE_REPLAY_H_
