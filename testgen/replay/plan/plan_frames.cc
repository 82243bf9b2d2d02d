// The functions that can be called, with their arguments, and the names of code.
#include <string.h>

#include <algorithm>

#include "agent/base/tool_function.h"
#include "testgen/replay/plan/failure_line.h"
#include "testgen/replay/plan/plan_parts.h"

namespace recrash {
namespace {

// What the guest calls of the C++ runtime.
bool IsRuntimeSymbol(const std::string& name) {
  for (const char* symbol :
       {"__cxa_get_globals", "__cxa_current_exception_type", "_ZTISt9exception", "_Unwind_Backtrace", "_Unwind_GetIP",
        "_ZNSt9basic_iosIcSt11char_traitsIcEE5clearESt12_Ios_Iostate", "_ZNSi5seekgElSt12_Ios_Seekdir"}) {
    if (name == symbol) return true;
  }
  return false;
}

}  // namespace

void PlanBuilder::AddFrames() {
  for (const ReplayFrame& frame : report_.replay->frames) {
    plan::Frame planned{};
    planned.index = frame.index;
    planned.name = AddText(frame.function.empty() ? ReadableSymbol(frame.linkage_name) : frame.function);
    planned.entry = frame.entry.value;
    planned.entry_sp = frame.entry_sp.value;
    planned.rebuilt_module = -1;
    planned.flags = frame.self_contained ? plan::kSealed : 0;
    const int module = ModuleAt(frame.entry.value);
    if (module >= 0 && rebuilt_[module]) {
      const std::optional<uint64_t> entry =
          translations_.at(module).FindFunction(frame.entry.value - modules_[module].base, frame.linkage_name);
      planned.entry = entry.value_or(0);
      planned.rebuilt_module = module;
      if (!entry) {
        const Module& rebuilt = report_.modules[module];
        planned.problem =
            AddText((frame.function.empty() ? frame.linkage_name : frame.function) + " is not in this build of " +
                    (rebuilt.is_program ? "the program" : rebuilt.path.substr(rebuilt.path.rfind('/') + 1)) +
                    ": removed, renamed, inlined, or its signature has changed");
      }
    }
    if (planned.entry == 0 && planned.problem == 0) planned.problem = AddText("the function's address is not known");
    if (planned.entry_sp % 16 != 8 && planned.problem == 0) {
      planned.problem = AddText("the stack pointer at its entry is not known");
    }
    const EntryState* const state = report_.replay->FindEntryState(frame.index);
    const std::vector<ReplayWord>& words = state && !state->words.empty() ? state->words : frame.words;
    planned.words = {words_.size(), words.size()};
    for (const ReplayWord& word : words) {
      plan::Word out{};
      out.location = static_cast<uint8_t>(word.location);
      out.parameter = word.parameter;
      out.stack_offset = word.stack_offset;
      out.size = std::min<uint16_t>(word.size, 16);
      out.source_offset = word.source_offset;
      memcpy(out.bytes, word.bytes.data(), 16);
      words_.push_back(out);
    }
    planned.fields = {fields_.size(), frame.fields.size()};
    for (const bool deep : {false, true}) {
      if (deep) planned.shallow_fields = static_cast<uint32_t>(fields_.size() - planned.fields.offset);
      for (const ReplayField& field : frame.fields)
        if ((field.depth > 1) == deep) AddPatch(&fields_, field.address, field.bytes);
    }
    planned.streams = {streams_.size(), frame.streams.size()};
    for (const ReplayStream& stream : frame.streams) {
      streams_.push_back({stream.parameter, static_cast<uint8_t>(stream.kind), stream.offset});
    }
    frames_.push_back(planned);
  }
}

void PlanBuilder::AddSymbols(const ModuleTranslation& translation, plan::Module* module) {
  module->symbols = {symbols_.size(), translation.symbols().size()};
  for (const TranslatedSymbol& symbol : translation.symbols()) {
    uint32_t flags = 0;
    if (symbol.is_function) flags |= plan::kFunction;
    if (symbol.found) flags |= plan::kTranslated;
    if (symbol.is_function && IsToolFunction(symbol.name)) flags |= plan::kTool;
    if (symbol.found && !symbol.is_function && symbol.size == symbol.new_size) flags |= plan::kCopied;
    symbols_.push_back(
        {symbol.offset, symbol.size, symbol.new_offset, symbol.new_size, AddText(ReadableSymbol(symbol.name)), flags});
  }
}

void PlanBuilder::AddSymbols() {
  for (const auto& [module, translation] : translations_) AddSymbols(translation, &modules_[module]);
  // A C++ runtime that was linked statically cannot be found by dlsym.
  for (const Symbol& symbol : program_.symbols) {
    if (IsRuntimeSymbol(symbol.name)) {
      runtime_symbols_.push_back({AddText(symbol.name), 0, symbol.offset});
    }
  }
}

}  // namespace recrash
