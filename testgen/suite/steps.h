// The steps of the pipeline that make, start and choose tests. None of them prints; `folder.h` and `test_files.h` have
// those that write, build and check.
#ifndef RECRASH_TESTGEN_SUITE_STEPS_H_
#define RECRASH_TESTGEN_SUITE_STEPS_H_

#include <string>
#include <vector>

#include "agent/base/result.h"
#include "agent/report/report.h"
#include "testgen/suite/folder.h"
#include "testgen/suite/load.h"
#include "testgen/suite/observer.h"
#include "testgen/verify/verify.h"

namespace recrash {

// ---- Describe: what of a crash goes into tests ---------------------------------------------------------------------

// A suite of all frames that can be called, at most crash.symbols.max_candidates of them; its folder is not set yet.
// kMissing when no frame can be called. `twin` may be empty.
Result<Suite> Describe(Crash crash, const std::string& twin = "");

// Adds the frames that the twin alone can call.
void AddFramesOfTwin(const Backtrace& backtrace, ReplayData* replay);

struct RerunRequest {
  double seconds = 60;          // that a run may take
  std::string folder;           // to run in; empty: a temporary one
  bool without_asking = false;  // whoever wrote the report
};

// Puts the crash of another run, with the entry states of its frames, in the place of the suite's. When the program
// does not fail in the same way, the suite stays as it is and the observer is told why. kRefused: the report is from
// elsewhere, and neither the request nor the observer, who was asked, consents.
Status RunProgramAgain(const RerunRequest& request, Suite* suite, Observer* observer);

// ---- Replay and Derive ---------------------------------------------------------------------------------------------

// Ascending by frame.
Result<std::vector<FrameVerdict>> ReplayFrames(const TestReport& report, const VerifyOptions& options,
                                               Observer* observer);

// Derives entry states for the frames that did not reproduce, or for `all`, and replays these from them. The verdict of
// a frame that reproduces then replaces the one before, and the suite's report has its state. A frame whose arguments
// were lost at the crash becomes a candidate where a replay of a frame outside shows them.
Status ReplayDerived(bool all, const VerifyOptions& options, Suite* suite, std::vector<FrameVerdict>* verdicts,
                     Observer* observer);

// ---- Keep: which frames become tests, by their verdicts alone ------------------------------------------------------

// The frames of `all` that reproduced in `runs` replays, each with the start that it took; of a recursion a few.
std::vector<ReplayFrame> FramesToKeep(const std::vector<ReplayFrame>& all, const std::vector<FrameVerdict>& verdicts,
                                      uint32_t runs);

// Leaves `frames` in `replay`, and what these need.
void Keep(std::vector<ReplayFrame> frames, ReplayData* replay);

// Of the frames that are left and start from their entries: which arguments lead to dead locals there.
Status LookAtEntries(Suite* suite);

// Finds out which of the frames that are left began with what makes them fail. Where that cannot be asked, the observer
// is told.
void Discern(const VerifyOptions& options, Suite* suite, Observer* observer);

// What the user should know of the frames that were kept, one sentence each.
std::vector<std::string> NotesOnKept(const TestReport& report, const std::vector<FrameVerdict>& verdicts);

// "these frames reproduce in some runs only …"; empty when there are none.
std::string UnstableText(const std::vector<FrameVerdict>& verdicts);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SUITE_STEPS_H_
