#include "testgen/symbols/frame_builder.h"

#include <algorithm>
#include <cstring>

#include "agent/base/tool_function.h"
#include "testgen/symbols/values/dwarf_call.h"
#include "testgen/symbols/values/recorded_call.h"
#include "testgen/symbols/values/streams.h"

namespace recrash {
namespace {

// LLVM's names for the parts of a coroutine that run after its first suspension. Such a part has one argument, the
// coroutine's frame. DWARF declares the source's arguments all the same.
bool IsCoroutinePart(const std::string& linkage_name) {
  for (const char* suffix : {".resume", ".destroy", ".cleanup"})
    if (linkage_name.ends_with(suffix)) return true;
  return false;
}

// Gives a word without a parameter's number (its debug record was lost) the number of the parameter that is passed
// there.
void NumberByPlace(const PlacedCall& places, std::vector<RecordedWord>& words) {
  for (RecordedWord& recorded : words) {
    abi::MapWord& word = recorded.word;
    if (word.parameter != 0 || word.kind != static_cast<uint8_t>(abi::WordKind::kArgument)) continue;
    for (size_t i = 0; i < places.parameters.size() && i < 255; ++i)
      for (const PlacedPiece& piece : places.parameters[i].pieces) {
        if (piece.location != static_cast<abi::Location>(word.location) ||
            (piece.location == abi::Location::kStack && piece.stack_offset != word.stack_offset))
          continue;
        word.parameter = static_cast<uint8_t>(i + 1);
        word.source_offset = static_cast<uint16_t>(piece.offset);
        if (places.parameters[i].indirect) word.flags |= abi::kIndirect;
      }
  }
}

// Reads a parameter that is not known yet from debug information, as it is at the frame's pc.
void ReadAtPc(ValueReader& values, size_t index, const CodeInfo& code, const ParameterInfo& info,
              Parameter& parameter) {
  if (parameter.complete || !info.has_die) return;
  const auto bytes = values.AtPc(index, code, info.die, parameter.type.size);
  if (!bytes) return;
  parameter.bytes = *bytes;
  parameter.complete = true;
  parameter.source = ValueSource::kDwarf;
}

}  // namespace

Frame FrameBuilder::Describe(const UnwoundFrame& unwound, const CodeInfo& code, const LiveFunction* live) const {
  Frame frame;
  frame.pc = unwound.lookup_pc();
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
  frame.own = code.module != nullptr && code.module->own && !IsToolFunction(frame.linkage_name);
  frame.entry = code.entry;
  if (!frame.inlined && unwound.cfa.value != 0) frame.entry_sp = unwound.cfa - 8;
  return frame;
}

void FrameBuilder::Render(const CodeInfo& code, const ParameterInfo& info, Parameter& parameter) {
  if (!parameter.complete) {
    if (parameter.rendered.empty()) parameter.rendered = "not known";
    return;
  }
  if (!info.type || code.debug == nullptr) return;
  if (!parameter.indirect) {
    parameter.rendered = renderer_.Parameter(*code.debug, *info.type, parameter.bytes);
    return;
  }
  TargetAddress address;
  std::memcpy(&address, parameter.bytes.data(), sizeof address);
  parameter.rendered = renderer_.ObjectAt(*code.debug, *info.type, address);
}

void FrameBuilder::AddInlined(ValueReader& values, size_t index, const CodeInfo& code, const LiveFunction& live,
                              Frame& frame) {
  frame.why_not = "it is inlined into its caller";
  for (const ParameterInfo& info : live.parameters) {
    Parameter parameter = info.described;
    ReadAtPc(values, index, code, info, parameter);
    Render(code, info, parameter);
    frame.parameters.push_back(std::move(parameter));
  }
}

void FrameBuilder::AddRecordedCall(ValueReader& values, size_t index, const CodeInfo& code, const LiveFunction& live,
                                   const Recorded& recorded, Frame& frame) {
  std::vector<RecordedWord> words = recorded.words;
  const bool coroutine = IsCoroutinePart(live.linkage_name);
  const auto places = code.scopes && !coroutine ? PlacesOf(*code.debug, live) : std::nullopt;
  if (places) NumberByPlace(*places, words);
  for (const ParameterInfo& info : live.parameters) {
    Parameter parameter = info.described;
    FillFromRecord(words, parameter);
    // The record lacks a parameter that the function does not use, or that the compiler passes in pieces.
    ReadAtPc(values, index, code, info, parameter);
    if (!parameter.complete && recorded.complete && !coroutine) parameter.rendered = "not used";
    Render(code, info, parameter);
    frame.parameters.push_back(std::move(parameter));
  }
  if (!code.scopes) frame.parameters = UntypedParameters(words);
  frame.words = CallWords(words);
  frame.fields = RecordedFields(words);
  frame.candidate = recorded.complete;
  frame.why_not = recorded.why_not;
  for (const RecordedWord& word : words) {
    if (word.word.location != static_cast<uint8_t>(abi::Location::kUnknown) ||
        word.word.kind != static_cast<uint8_t>(abi::WordKind::kArgument))
      continue;
    frame.candidate = false;
    const auto parameter = std::find_if(frame.parameters.begin(), frame.parameters.end(),
                                        [&](const Parameter& p) { return p.number == word.word.parameter; });
    frame.why_not = parameter == frame.parameters.end() ? "an argument is passed in a way that a replay cannot repeat"
                                                        : "the argument " + ParameterName(*parameter) +
                                                              " is passed in a way that a replay cannot repeat";
  }
}

void FrameBuilder::AddDwarfCall(ValueReader& values, size_t index, const CodeInfo& code, const LiveFunction& live,
                                Frame& frame) {
  for (const ParameterInfo& info : live.parameters) frame.parameters.push_back(info.described);
  if (!code.scopes) {
    frame.why_not = "it has no record and no debug information";
    return;
  }
  if (IsCoroutinePart(live.linkage_name)) {
    frame.why_not = "it is a part of a coroutine, entered with the coroutine's frame, and has no record";
  } else {
    const DwarfCall call = CallFromDwarf(values, index, code, live, frame.parameters);
    frame.words = call.words;
    frame.candidate = call.complete;
    frame.why_not = call.why_not;
  }
  for (size_t i = 0; i < frame.parameters.size(); ++i) {
    Parameter& parameter = frame.parameters[i];
    const ParameterInfo& info = live.parameters[i];
    // The value may be known though the place is not.
    ReadAtPc(values, index, code, info, parameter);
    if (!parameter.complete && IsUnused(info)) parameter.rendered = "not used";
    Render(code, info, parameter);
  }
}

void FrameBuilder::AddStreams(const CodeInfo& code, const LiveFunction& live, Frame& frame) {
  if (code.debug == nullptr) return;
  for (size_t i = 0; i < frame.parameters.size() && i < live.parameters.size(); ++i) {
    const Parameter& parameter = frame.parameters[i];
    const ParameterInfo& info = live.parameters[i];
    if (!info.type || parameter.number == 0 || parameter.indirect) continue;
    const auto word = std::find_if(frame.words.begin(), frame.words.end(), [&](const ReplayWord& candidate) {
      return candidate.parameter == parameter.number && candidate.source_offset == 0 && candidate.size == 8;
    });
    if (word == frame.words.end()) continue;
    TargetAddress address;
    std::memcpy(&address, word->bytes.data(), sizeof address);
    if (auto stream = StreamOf(*code.debug, *info.type, address, memory_)) {
      stream->parameter = parameter.number;
      frame.streams.push_back(*stream);
    }
  }
}

void FrameBuilder::AddCall(ValueReader& values, size_t index, const CodeInfo& code, const LiveFunction& live,
                           Frame& frame) {
  const Recorded recorded = values.ReadRecord(index, code, live);
  frame.monitored = recorded.monitored;
  if (recorded.monitored)
    AddRecordedCall(values, index, code, live, recorded, frame);
  else
    AddDwarfCall(values, index, code, live, frame);
  AddStreams(code, live, frame);
  if (frame.entry_sp.value == 0 || frame.entry.value == 0 || frame.is_signal_frame) {
    frame.candidate = false;
    frame.why_not = "where it was entered is not known";
  }
  if (!frame.own) {
    frame.candidate = false;
    frame.why_not = "it is not the program's own";
  }
  if (frame.candidate) frame.why_not.clear();
}

void FrameBuilder::Append(const Stack& stack, size_t index, std::vector<Frame>& frames) {
  const UnwoundFrame& unwound = stack.frames[index];
  const CodeInfo& code = code_.At(unwound.lookup_pc());
  ValueReader values(code_, unwinder_, memory_, stack);
  if (code.live.empty()) {
    Frame frame = Describe(unwound, code, nullptr);
    frame.own = frame.own && code.range.has_value();
    if (code.range)
      AddCall(values, index, code, LiveFunction{}, frame);
    else
      frame.why_not = code.module == nullptr ? "its address is in no module" : "no function is known at its address";
    frames.push_back(std::move(frame));
    return;
  }
  for (const LiveFunction& live : code.live) {
    Frame frame = Describe(unwound, code, &live);
    if (live.inlined)
      AddInlined(values, index, code, live, frame);
    else
      AddCall(values, index, code, live, frame);
    frames.push_back(std::move(frame));
  }
}

}  // namespace recrash
