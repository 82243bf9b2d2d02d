// The step that says which frames become tests. It takes verdicts and runs nothing.
#ifndef RECRASH_TESTGEN_SUITE_KEEP_H_
#define RECRASH_TESTGEN_SUITE_KEEP_H_

#include <string>
#include <vector>

#include "agent/report/report.h"
#include "testgen/verify/verify.h"

namespace recrash {

// The frames of `all` that reproduced in `runs` replays, each with the start that it took; of a recursion a few.
std::vector<ReplayFrame> FramesToKeep(const std::vector<ReplayFrame>& all, const std::vector<FrameVerdict>& verdicts,
                                      uint32_t runs);

// Leaves `frames` in `replay`, and what these need.
void Keep(std::vector<ReplayFrame> frames, ReplayData* replay);

// What the user should know of the frames that were kept, one sentence each.
std::vector<std::string> NotesOnKept(const Report& report, const std::vector<FrameVerdict>& verdicts);

// "these frames reproduce in some runs only …"; empty when there are none.
std::string UnstableText(const std::vector<FrameVerdict>& verdicts);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SUITE_KEEP_H_
