// Collects what a replay needs, so that it needs neither the original program nor its DWARF.
#include <dwarf.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "agent/report/modules.h"
#include "agent/report/pages.h"
#include "testgen/symbols/backtrace.h"
#include "testgen/symbols/dwarf/types.h"
#include "testgen/symbols/layout/layout_reader.h"
#include "testgen/symbols/replay_image.h"
#include "testgen/symbols/text/render.h"

namespace recrash {
namespace {

// The limit for all modules together. More symbols would make the report larger than the memory in it.
constexpr size_t kMaxSymbols = 2'000'000;
constexpr size_t kMostStackVariables = 10'000;
constexpr int kMostNesting = 16;

ModuleImage MakeImage(const LoadedModule& module, size_t most_symbols) {
  ModuleImage image;
  image.base = module.module->base;
  image.read_only = ReadOnlyData(module);
  image.symbols = SymbolsOf(*module.names, image.base.value - module.bias(), most_symbols);
  image.thread_locals = ThreadLocalsOf(*module.names);
  return image;
}

// Takes the program first, then its own libraries, if their files are still those of the crash.
std::vector<ModuleImage> MakeImages(ModuleSet& modules) {
  std::vector<ModuleImage> images;
  size_t symbols_left = kMaxSymbols;
  const auto add = [&](const LoadedModule& module) {
    images.push_back(MakeImage(module, symbols_left));
    symbols_left -= images.back().symbols.size();
  };
  add(*modules.program());
  for (const Module& module : modules.modules()) {
    if (module.is_program || !IsOwnPath(module.path)) continue;
    const LoadedModule* loaded = modules.Find(module.base);
    if (loaded && loaded->module == &module) add(*loaded);
  }
  std::sort(images.begin(), images.end(), [](const ModuleImage& a, const ModuleImage& b) { return a.base < b.base; });
  return images;
}

void MarkIndirect(const Frame& frame, std::vector<ReplayParameter>* parameters) {
  for (ReplayParameter& parameter : *parameters) {
    if (parameter.number == 0) continue;  // the result
    const auto described = std::ranges::find(frame.parameters, parameter.number, &Parameter::number);
    parameter.indirect = described != frame.parameters.end() && described->indirect;
  }
}

const LiveFunction* FunctionOf(const Frame& frame, const CodeInfo& code) {
  const auto live = std::ranges::find_if(code.live, [&](const LiveFunction& function) {
    return function.inlined == frame.inlined && function.linkage_name == frame.linkage_name;
  });
  return live == code.live.end() ? nullptr : &*live;
}

// The class that a variable holds objects of, and how many; no type: it is of no class.
std::pair<std::optional<Dwarf_Die>, uint64_t> ElementOf(DebugInfo& debug, std::optional<Dwarf_Die> type) {
  uint64_t count = 1;
  for (int depth = 0; type && depth < kMostNesting; ++depth) {
    Dwarf_Die resolved = ResolveType(debug, *type);
    const TypeKind kind = KindOf(resolved);
    if (kind == TypeKind::kArray) {
      count *= ArrayCount(resolved).value_or(0);
      type = TypeOf(resolved);
    } else if (kind == TypeKind::kClass && DieName(resolved).starts_with("array<") &&
               debug.ScopeOf(resolved).starts_with("std::")) {
      std::vector<Dwarf_Die> members = ChildrenWithTag(resolved, DW_TAG_member);
      type = members.empty() ? std::nullopt : TypeOf(members.front());
    } else {
      return {kind == TypeKind::kClass ? std::optional(resolved) : std::nullopt, count};
    }
  }
  return {};
}

// Types that the parameters of frames and the variables of own modules lead to, for replays against another build.
class TypeCollector {
 public:
  explicit TypeCollector(const Symbols& symbols) : symbols_(symbols) {}

  std::vector<ReplayParameter> ParametersOf(const Frame& frame) {
    std::vector<ReplayParameter> parameters;
    const CodeInfo& code = symbols_.code().At(frame.pc);
    const LiveFunction* live = FunctionOf(frame, code);
    if (!code.scopes || !live || !code.module->own) return parameters;
    LayoutReader& reader = ReaderOf(*code.module);
    if (const uint32_t result = reader.AddResult(live->die)) parameters.push_back({0, "", result, false});
    for (const ParameterInfo& info : live->parameters)
      parameters.push_back({info.described.number, info.described.name, reader.Add(info.type), false});
    return parameters;
  }

  void Finish(const std::vector<Frame>& frames, ModuleImage* image) {
    const LoadedModule* module = symbols_.modules().Find(image->base);
    DebugInfo* debug = module ? symbols_.code().DebugOf(module) : nullptr;
    if (!debug) return;
    LayoutReader& reader = ReaderOf(*module);
    image->variables = ReadVariables(*debug, *module->image, image->base.value - module->bias(), &reader);
    image->stack_variables = StackVariablesOf(frames, reader);
    image->types = reader.Take();
    image->inlined = ReadInlined(*debug);
  }

 private:
  // Ascending. What no parameter leads to says nothing to a replay. The class may be of another module than the
  // variable.
  std::vector<StackVariable> StackVariablesOf(const std::vector<Frame>& frames, const LayoutReader& types) {
    std::map<uint64_t, StackVariable> found;
    for (const Frame& frame : frames) {
      const LoadedModule* module = frame.variables.empty() ? nullptr : symbols_.modules().Find(frame.pc);
      DebugInfo* debug = module ? symbols_.code().DebugOf(module) : nullptr;
      if (!debug) continue;
      for (const VariablePlace& place : frame.variables) {
        Dwarf_Die die;
        if (found.size() == kMostStackVariables || !dwarf_offdie(debug->file().dwarf(), place.die, &die)) break;
        auto [type, count] = ElementOf(*debug, TypeOf(die));
        const uint32_t known = type ? types.Find(ReaderOf(*module).NameOf(*type)) : 0;
        if (known && count) found.try_emplace(place.address.value, StackVariable{place.address.value, known, count});
      }
    }
    std::vector<StackVariable> variables;
    for (const auto& [address, variable] : found) variables.push_back(variable);
    return variables;
  }

  LayoutReader& ReaderOf(const LoadedModule& module) {
    return readers_.try_emplace(&module, *symbols_.code().DebugOf(&module)).first->second;
  }

  const Symbols& symbols_;
  std::map<const LoadedModule*, LayoutReader> readers_;
};

uint64_t AddressIn(const std::vector<uint8_t>& bytes) {
  uint64_t address = 0;
  for (size_t i = std::min(bytes.size(), sizeof address); i-- > 0;) address = address << 8 | bytes[i];
  return address;
}

std::string NameOf(const Parameter& parameter) { return parameter.name.empty() ? "an argument" : parameter.name; }

}  // namespace

ReplayFrame MakeReplayFrame(const Frame& frame) {
  ReplayFrame replay;
  replay.index = frame.index;
  const bool is_of_twin = frame.inlined && frame.entry.value == 0 && !frame.name_in_twin.empty();
  replay.linkage_name = is_of_twin ? frame.name_in_twin : frame.linkage_name;
  replay.function = frame.function;
  replay.file = frame.declared_file;
  replay.line = frame.declared_line;
  replay.entry = frame.entry;
  replay.entry_sp = frame.entry_sp;
  replay.words = frame.words;
  replay.fields = frame.fields;
  replay.streams = frame.streams;
  replay.caught = frame.caught;
  const auto dangling = std::ranges::find_if(frame.parameters, &Parameter::reaches_dead_stack);
  if (dangling != frame.parameters.end()) replay.dangling = NameOf(*dangling);
  replay.inlined_at = frame.inlined_at;
  replay.changed_call = frame.changed_call;
  return replay;
}

std::string DanglingAtItsEntry(const Report& report, const Symbols& symbols, const Frame& frame,
                               const EntryState& state) {
  const CodeInfo& code = symbols.code().At(frame.pc);
  const LiveFunction* live = FunctionOf(frame, code);
  if (!code.debug || !live) return MakeReplayFrame(frame).dangling;
  const Pages pages = PagesOf(report, state);
  ReportMemory memory(report, &symbols.modules());
  memory.OverlayPages(&pages);
  Renderer renderer(memory, symbols.modules());
  renderer.EnterFrame(frame.entry_sp);
  for (size_t i = 0; i < std::min(frame.parameters.size(), live->parameters.size()); ++i) {
    const Parameter& parameter = frame.parameters[i];
    const auto& type = live->parameters[i].type;
    if (!parameter.complete || !type) continue;
    const RenderedValue value = parameter.indirect ? renderer.ObjectAt(*code.debug, *type, {AddressIn(parameter.bytes)})
                                                   : renderer.Parameter(*code.debug, *type, parameter.bytes);
    if (value.reaches_dead_stack) return NameOf(parameter);
  }
  return "";
}

ReplayData MakeReplayData(const Backtrace& backtrace, const Symbols& symbols) {
  ReplayData data;
  TypeCollector types(symbols);
  for (const Frame& frame : backtrace.frames) {
    if (!frame.candidate) continue;
    data.frames.push_back(MakeReplayFrame(frame));
    data.frames.back().parameters = types.ParametersOf(frame);
    MarkIndirect(frame, &data.frames.back().parameters);
  }
  data.place = backtrace.place;
  data.images = MakeImages(symbols.modules());
  for (ModuleImage& image : data.images) types.Finish(backtrace.frames, &image);
  return data;
}

}  // namespace recrash
