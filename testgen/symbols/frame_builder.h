// Describes an unwound frame: names, lines, arguments, and the words of the call that a replay makes.
#ifndef RECRASH_TESTGEN_SYMBOLS_FRAME_BUILDER_H_
#define RECRASH_TESTGEN_SYMBOLS_FRAME_BUILDER_H_

#include <vector>

#include "testgen/symbols/backtrace.h"
#include "testgen/symbols/stack/code_info.h"
#include "testgen/symbols/text/render.h"
#include "testgen/symbols/values/frame_values.h"

namespace recrash {

class FrameBuilder {
 public:
  FrameBuilder(CodeReader& code, Unwinder& unwinder, const ReportMemory& memory, ModuleSet& modules)
      : code_(code), unwinder_(unwinder), memory_(memory), renderer_(memory, modules) {}

  // Appends the frame at `index` of `stack`, after the calls that were inlined there.
  void Append(const Stack& stack, size_t index, std::vector<Frame>& frames);

 private:
  Frame Describe(const UnwoundFrame& unwound, const CodeInfo& code, const LiveFunction* live) const;
  void AddInlined(ValueReader& values, size_t index, const CodeInfo& code, const LiveFunction& live, Frame& frame);
  void AddCall(ValueReader& values, size_t index, const CodeInfo& code, const LiveFunction& live, Frame& frame);

  void AddRecordedCall(ValueReader& values, size_t index, const CodeInfo& code, const LiveFunction& live,
                       const Recorded& recorded, Frame& frame);
  void AddStreams(const CodeInfo& code, const LiveFunction& live, Frame& frame);
  void AddDwarfCall(ValueReader& values, size_t index, const CodeInfo& code, const LiveFunction& live, Frame& frame);
  void Render(const CodeInfo& code, const ParameterInfo& info, Parameter& parameter);

  CodeReader& code_;
  Unwinder& unwinder_;
  const ReportMemory& memory_;
  Renderer renderer_;
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_FRAME_BUILDER_H_
