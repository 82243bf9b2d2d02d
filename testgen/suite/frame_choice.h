// Where chosen frames lie on the failing stack, so that they can be taken out of a report.
//
//   const Result<std::vector<StackPart>> parts = ChooseStack("0-2,7-", report, backtrace);
#ifndef RECRASH_TESTGEN_SUITE_FRAME_CHOICE_H_
#define RECRASH_TESTGEN_SUITE_FRAME_CHOICE_H_

#include <string>
#include <vector>

#include "agent/base/result.h"
#include "agent/report/report.h"
#include "testgen/symbols/backtrace.h"

namespace recrash {

// Of successive frames: their locals and return addresses, and the arguments that the outermost of them got on the
// stack.
struct StackPart {
  TargetAddress low;
  TargetAddress high;
  bool has_innermost = false;  // what dead calls have left below the stack pointer is in it, too
  bool has_outermost = false;  // no frame outside is left; of the main thread: up to the stack's end
};

// `choice`: numbers as in `recrash show`, as in "2", "0-3" (with all between), "5-" (with all outside), with commas
// between them. An inlined frame stands for the one that it was inlined into. kUsage if there is no such frame.
Result<std::vector<StackPart>> ChooseStack(const std::string& choice, const Report& report, const Backtrace& backtrace);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SUITE_FRAME_CHOICE_H_
