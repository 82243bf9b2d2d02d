#include "testgen/symbols/frame_builder.h"

#include <algorithm>

#include "agent/base/tool_function.h"
#include "testgen/symbols/bad_value.h"
#include "testgen/symbols/place_copies.h"
#include "testgen/symbols/values/dwarf_call.h"
#include "testgen/symbols/values/recorded_call.h"
#include "testgen/symbols/values/stack_variables.h"
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

// The record lacks arguments that this build has no use for. Another build may: debug information knows some of them.
void AddUnusedArguments(const PlacedCall& places, Frame* frame) {
  for (size_t i = 0; i < std::min(frame->parameters.size(), places.parameters.size()); ++i) {
    const Parameter& parameter = frame->parameters[i];
    const bool is_recorded =
        std::ranges::find(frame->words, parameter.number, &ReplayWord::parameter) != frame->words.end();
    if (parameter.complete && !parameter.indirect && !is_recorded)
      AppendPieces(places.parameters[i], parameter.number, parameter.bytes, frame->words);
  }
}

Frame Describe(const UnwoundFrame& unwound, const CodeInfo& code, const LiveFunction* live) {
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
    frame.returns = live->returns;
  }
  frame.own = code.module != nullptr && code.module->own && !IsToolFunction(frame.linkage_name);
  if (frame.inlined) return frame;
  frame.entry = code.entry;
  if (unwound.cfa.value != 0) frame.entry_sp = unwound.cfa - 8;
  return frame;
}

}  // namespace

void FrameBuilder::Finish(ValueReader& values, const ParameterInfo& info, bool unused, Parameter& parameter) {
  const CodeInfo& code = values.code();
  if (!parameter.complete && !parameter.indirect && info.has_die) {
    if (auto bytes = values.AtPc(info.die, parameter.type.size)) {
      parameter.bytes = std::move(*bytes);
      parameter.complete = true;
      parameter.source = ValueSource::kDwarf;
    }
  }
  const auto show = [&](RenderedValue value) {
    parameter.rendered = std::move(value.line);
    parameter.lines = std::move(value.lines);
    parameter.reaches_dead_stack = value.reaches_dead_stack;
  };
  if (!parameter.complete) {
    parameter.rendered = unused ? "not used" : "not known";
  } else if (info.type && code.debug != nullptr && parameter.indirect) {
    show(renderer_.ObjectAt(*code.debug, *info.type, {ToUnsigned(parameter.bytes)}));
  } else if (info.type && code.debug != nullptr) {
    show(renderer_.Parameter(*code.debug, *info.type, parameter.bytes));
  }
}

// Templates of the standard library are compiled into the program and inlined everywhere; nobody looks for tests of
// these.
void FrameBuilder::AddInlined(ValueReader& values, const UnwoundFrame& around, const LiveFunction& live, Frame& frame) {
  frame.why_not = "it is inlined into its caller";
  for (const ParameterInfo& info : live.parameters) frame.parameters.push_back(info.described);
  if (frame.own && !IsSystemsFile(frame.declared_file)) {
    const InlinedCall how = FindInlinedCall(code_, unwinder_, around, live);
    frame.inlined_at = how.at;
    frame.inlined_sp = how.sp;
    frame.inlined_later = how.later;
    frame.inlined_else = how.others;
    frame.entry = how.copy ? how.copy->entry : TargetAddress{};
    frame.why_not = how.why_not;
    if (how.why_not.empty()) {
      frame.entry_sp = how.layout.entry_sp;
      ValueReader* const readers[] = {&values};
      const DwarfCall call = CallOfInlined(readers, live, how, nullptr, frame.parameters);
      frame.words = call.words;
      frame.why_not = how.copy ? call.why_not : "it is inlined into its caller, and the program has no copy of it";
      frame.candidate = how.copy && call.complete;
      frame.twin_candidate = !how.copy && call.complete;
    }
  }
  for (size_t i = 0; i < frame.parameters.size(); ++i) Finish(values, live.parameters[i], false, frame.parameters[i]);
}

const LiveFunction* FrameBuilder::InlinedAt(const UnwoundFrame& around, const Frame& frame) {
  const CodeInfo& code = code_.At(around.lookup_pc());
  const auto live = std::ranges::find_if(code.live, [&](const LiveFunction& function) {
    Dwarf_Die die = function.die;
    const auto begin = function.inlined ? DebugInfo::EntryOf(die) : std::nullopt;
    return begin && *begin + code.module->bias() == frame.inlined_at.value &&
           function.linkage_name == frame.linkage_name;
  });
  return live == code.live.end() ? nullptr : &*live;
}

bool FrameBuilder::CallFromItsEntry(std::span<ValueReader* const> readers, const UnwoundFrame& around,
                                    OtherArguments* others, Frame& frame) {
  const LiveFunction* live = InlinedAt(around, frame);
  if (!live) return false;
  const InlinedCall how = FindInlinedCall(code_, unwinder_, around, *live);
  frame.why_not = how.why_not;
  if (!how.why_not.empty()) return false;
  frame.parameters.clear();
  for (const ParameterInfo& info : live->parameters) frame.parameters.push_back(info.described);
  const DwarfCall call = CallOfInlined(readers, *live, how, others, frame.parameters);
  frame.words = call.words;
  frame.why_not = call.why_not;
  return call.complete;
}

void FrameBuilder::ShowArguments(ValueReader& values, const UnwoundFrame& around, Frame& frame) {
  const LiveFunction* live = InlinedAt(around, frame);
  renderer_.EnterFrame(frame.entry_sp);
  for (size_t i = 0; live && i < frame.parameters.size(); ++i)
    Finish(values, live->parameters[i], false, frame.parameters[i]);
}

void FrameBuilder::AddRecordedCall(ValueReader& values, const Recorded& recorded, Frame& frame) {
  const CodeInfo& code = values.code();
  const LiveFunction& live = values.function();
  std::vector<RecordedWord> words = recorded.words;
  const bool coroutine = IsCoroutinePart(live.linkage_name);
  const auto places = code.scopes && !coroutine ? PlacesOf(*code.debug, live) : std::nullopt;
  if (places) NumberByPlace(*places, words);
  for (const ParameterInfo& info : live.parameters) {
    Parameter& parameter = frame.parameters.emplace_back(info.described);
    FillFromRecord(words, parameter);
    // The record lacks a parameter that the function does not use, or that the compiler passes in pieces.
    Finish(values, info, recorded.complete && !coroutine, parameter);
  }
  if (!code.scopes) frame.parameters = UntypedParameters(words);
  frame.words = CallWords(words);
  if (places && !frame.changed_call) AddUnusedArguments(*places, &frame);
  frame.fields = RecordedFields(words);
  frame.candidate = recorded.complete;
  frame.why_not = recorded.why_not;
  for (const RecordedWord& recorded_word : words) {
    const abi::MapWord& word = recorded_word.word;
    if (word.location != static_cast<uint8_t>(abi::Location::kUnknown) || !IsArgument(word)) continue;
    frame.candidate = false;
    const auto parameter = std::ranges::find(frame.parameters, word.parameter, &Parameter::number);
    frame.why_not = parameter == frame.parameters.end() ? "an argument is passed in a way that a replay cannot repeat"
                                                        : "the argument " + ParameterName(*parameter) +
                                                              " is passed in a way that a replay cannot repeat";
  }
}

void FrameBuilder::AddDwarfCall(ValueReader& values, Frame& frame) {
  const LiveFunction& live = values.function();
  for (const ParameterInfo& info : live.parameters) frame.parameters.push_back(info.described);
  if (!values.code().scopes) {
    frame.why_not = "it has no record and no debug information";
    return;
  }
  if (IsCoroutinePart(live.linkage_name)) {
    frame.why_not = "it is a part of a coroutine, entered with the coroutine's frame, and has no record";
  } else {
    const DwarfCall call = CallFromDwarf(values, frame.parameters);
    frame.words = call.words;
    frame.candidate = call.complete;
    frame.why_not = call.why_not;
  }
  // The value may be known though the place is not.
  for (size_t i = 0; i < frame.parameters.size(); ++i)
    Finish(values, live.parameters[i], IsUnused(live.parameters[i]), frame.parameters[i]);
}

void FrameBuilder::AddStreams(const ValueReader& values, Frame& frame) {
  const std::vector<ParameterInfo>& infos = values.function().parameters;
  if (values.code().debug == nullptr) return;
  for (size_t i = 0; i < frame.parameters.size() && i < infos.size(); ++i) {
    const Parameter& parameter = frame.parameters[i];
    if (!infos[i].type || parameter.number == 0 || parameter.indirect) continue;
    const auto word = std::ranges::find_if(frame.words, [&](const ReplayWord& candidate) {
      return candidate.parameter == parameter.number && candidate.source_offset == 0 && candidate.size == 8;
    });
    if (word == frame.words.end()) continue;
    if (auto stream = StreamOf(*values.code().debug, *infos[i].type, {ToUnsigned(word->bytes)}, memory_)) {
      stream->parameter = parameter.number;
      frame.streams.push_back(*stream);
    }
  }
}

void FrameBuilder::AddCall(ValueReader& values, Frame& frame) {
  frame.changed_call = TakesArgumentsAsUsual(values.code()) == false;
  const Recorded recorded = values.ReadRecord();
  frame.monitored = recorded.monitored;
  if (recorded.monitored)
    AddRecordedCall(values, recorded, frame);
  else
    AddDwarfCall(values, frame);
  AddStreams(values, frame);
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
  ValueReader values(code_, unwinder_, memory_, stack, index);
  const UnwoundFrame& unwound = stack.frames[index];
  const CodeInfo& code = values.code();
  for (const LiveFunction& live : code.live) {
    Frame& frame = frames.emplace_back(Describe(unwound, code, &live));
    renderer_.EnterFrame(frame.entry_sp);
    if (live.inlined)
      AddInlined(values, unwound, live, frame);
    else
      AddCall(values, frame);
    if (frame.own) frame.variables = StackVariablesOf(values, live);
    if (!live.inlined && index == 0) MarkIfUsed(memory_.report(), memory_, unwound, values, &frame);
  }
  if (!code.live.empty()) return;
  Frame& frame = frames.emplace_back(Describe(unwound, code, nullptr));
  frame.own = frame.own && code.range.has_value();
  if (code.range)
    AddCall(values, frame);
  else
    frame.why_not = code.module == nullptr ? "its address is in no module" : "no function is known at its address";
}

}  // namespace recrash
