#include "testgen/symbols/frame_builder.h"

#include <algorithm>

#include "testgen/symbols/recorded_call.h"

namespace recrash {
namespace {

// What recrash itself links into programs.
bool IsAgentFunction(const std::string& name) {
  for (const char* prefix : {"__recrash_", "_ZN7recrash", "_ZN15google_breakpad"})
    if (name.starts_with(prefix)) return true;
  return false;
}

std::string ParameterName(const Parameter& parameter) {
  if (!parameter.name.empty()) return "`" + parameter.name + "`";
  return "number " + std::to_string(parameter.number);
}

}  // namespace

Frame FrameBuilder::Describe(const UnwoundFrame& unwound, const CodeInfo& code, const LiveFunction* live) const {
  Frame frame;
  frame.pc = {unwound.lookup_pc()};
  frame.is_signal_frame = unwound.is_signal_frame;
  if (code.module != nullptr) frame.module = code.module->module->path;
  if (live != nullptr) {
    frame.linkage_name = live->linkage_name;
    frame.function = live->function;
    frame.file = live->at.file;
    frame.line = live->at.line;
    frame.declared_file = live->declared.file;
    frame.declared_line = live->declared.line;
    frame.inlined = live->inlined;
  }
  frame.own = code.module != nullptr && code.module->own && !IsAgentFunction(frame.linkage_name);
  frame.entry = {code.entry};
  if (!frame.inlined && unwound.cfa != 0) frame.entry_sp = {unwound.cfa - 8};
  return frame;
}

void FrameBuilder::AddInlined(ValueReader& values, size_t index, const CodeInfo& code, const LiveFunction& live,
                              Frame& frame) {
  frame.why_not = "inlined into its caller";
  for (const ParameterInfo& info : live.parameters) {
    Parameter parameter = info.described;
    if (const auto bytes = info.has_die ? values.AtPc(index, code, info.die, parameter.type.size) : std::nullopt) {
      parameter.bytes = *bytes;
      parameter.complete = true;
      parameter.source = ValueSource::kDwarf;
    }
    frame.parameters.push_back(std::move(parameter));
  }
}

void FrameBuilder::AddCall(ValueReader& values, size_t index, const CodeInfo& code, const LiveFunction& live,
                           Frame& frame) {
  const Recorded recorded = values.ReadRecord(index, code);
  frame.monitored = recorded.monitored;
  for (const ParameterInfo& info : live.parameters) {
    Parameter parameter = info.described;
    FillFromRecord(recorded.words, parameter);
    if (!parameter.complete && info.has_die) {
      if (const auto bytes = values.AtPc(index, code, info.die, parameter.type.size)) {
        parameter.bytes = *bytes;
        parameter.complete = true;
        parameter.source = ValueSource::kDwarf;
      }
    }
    frame.parameters.push_back(std::move(parameter));
  }
  frame.words = CallWords(recorded.words);
  frame.fields = RecordedFields(recorded.words);
  frame.candidate = frame.own && recorded.complete && frame.entry_sp.value != 0;
  if (!recorded.monitored) frame.why_not = "it was not built with recrash";
  if (!recorded.why_not.empty()) frame.why_not = recorded.why_not;
  if (!frame.own) frame.why_not = "it is not the program's own";
  for (const RecordedWord& word : recorded.words) {
    if (word.word.location != static_cast<uint8_t>(abi::Location::kUnknown) ||
        word.word.kind != static_cast<uint8_t>(abi::WordKind::kArgument))
      continue;
    frame.candidate = false;
    frame.why_not = "an argument is passed in a way that a replay cannot repeat";
    for (const Parameter& parameter : frame.parameters)
      if (parameter.number == word.word.parameter)
        frame.why_not = "the argument " + ParameterName(parameter) + " is passed in a way that a replay cannot repeat";
  }
}

void FrameBuilder::Append(const Stack& stack, size_t index, std::vector<Frame>& frames) {
  const UnwoundFrame& unwound = stack.frames[index];
  const CodeInfo& code = code_.At(unwound.lookup_pc());
  ValueReader values(code_, unwinder_, memory_, stack);
  if (code.live.empty()) {
    Frame frame = Describe(unwound, code, nullptr);
    frame.own = frame.own && code.range.has_value();
    if (frame.own) AddCall(values, index, code, LiveFunction{}, frame);
    if (!frame.candidate && frame.why_not.empty()) frame.why_not = "there is no function at its address";
    frames.push_back(std::move(frame));
    return;
  }
  for (const LiveFunction& live : code.live) {
    Frame frame = Describe(unwound, code, &live);
    if (live.inlined)
      AddInlined(values, index, code, live, frame);
    else
      AddCall(values, index, code, live, frame);
    if (frame.candidate) frame.why_not.clear();
    frames.push_back(std::move(frame));
  }
}

}  // namespace recrash
