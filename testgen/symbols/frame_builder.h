// Describes an unwound frame: names, lines, arguments, and the words of the call that a replay makes.
#ifndef RECRASH_TESTGEN_SYMBOLS_FRAME_BUILDER_H_
#define RECRASH_TESTGEN_SYMBOLS_FRAME_BUILDER_H_

#include <span>
#include <vector>

#include "testgen/symbols/backtrace.h"
#include "testgen/symbols/stack/code_info.h"
#include "testgen/symbols/text/render.h"
#include "testgen/symbols/values/frame_values.h"
#include "testgen/symbols/values/inlined_call.h"

namespace recrash {

class FrameBuilder {
 public:
  FrameBuilder(CodeReader& code, Unwinder& unwinder, const ReportMemory& memory, ModuleSet& modules)
      : code_(code), unwinder_(unwinder), memory_(memory), renderer_(memory, modules) {}

  // Appends the frame at `index` of `stack`, after the calls that were inlined there.
  void Append(const Stack& stack, size_t index, std::vector<Frame>& frames);
  // Puts together the call of an inlined frame once more. An argument comes from the first of `readers` that knows it,
  // each of which stands at another instruction, else from `others`, which may be null. Sets the frame's why_not if
  // that is not all, and returns false.
  // REQUIRES: `frame` was appended for `around`; there is a reader.
  bool CallFromItsEntry(std::span<ValueReader* const> readers, const UnwoundFrame& around, OtherArguments* others,
                        Frame& frame);

  // Shows the arguments of that call. REQUIRES: CallFromItsEntry has put it together, and the memory now has what the
  // call writes to the stack.
  void ShowArguments(ValueReader& values, const UnwoundFrame& around, Frame& frame);

  Renderer& renderer() { return renderer_; }

 private:
  void AddInlined(ValueReader& values, const UnwoundFrame& around, const LiveFunction& live, Frame& frame);
  const LiveFunction* InlinedAt(const UnwoundFrame& around, const Frame& frame);
  void AddCall(ValueReader& values, Frame& frame);
  void AddRecordedCall(ValueReader& values, const Recorded& recorded, Frame& frame);
  void AddDwarfCall(ValueReader& values, Frame& frame);
  void AddStreams(const ValueReader& values, Frame& frame);
  // Reads the parameter as it is at the frame's pc, if its value is not known yet, and shows it. `unused`: the compiler
  // may have found no use for it.
  void Finish(ValueReader& values, const ParameterInfo& info, bool unused, Parameter& parameter);

  CodeReader& code_;
  Unwinder& unwinder_;
  const ReportMemory& memory_;
  Renderer renderer_;
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_FRAME_BUILDER_H_
