// The functions that can be called, with their arguments, and the names of code.
#include <string.h>

#include <algorithm>
#include <string_view>

#include "agent/base/printable_text.h"
#include "agent/base/text.h"
#include "agent/base/tool_function.h"
#include "agent/elf/symbol_key.h"
#include "testgen/replay/plan/plan_parts.h"

namespace recrash {
namespace {

// What the guest calls of the C++ runtime.
constexpr std::string_view kRuntimeSymbols[] = {"__cxa_get_globals",
                                                "__cxa_current_exception_type",
                                                "_ZTISt9exception",
                                                "_ZTVN10__cxxabiv120__si_class_type_infoE",
                                                "_ZTVN10__cxxabiv121__vmi_class_type_infoE",
                                                "__asan_report_present",
                                                "__asan_get_report_description",
                                                "_Unwind_Backtrace",
                                                "_Unwind_GetIP",
                                                "_ZNSt9basic_iosIcSt11char_traitsIcEE5clearESt12_Ios_Iostate",
                                                "_ZNSi5seekgElSt12_Ios_Seekdir"};

}  // namespace

// What can be asked in its place: the nearest frame outside whose function this build has.
std::string PlanBuilder::WhoHasInlined(const ReplayFrame& frame, const ModuleTranslation& translation) const {
  const ReplayFrame* outer = nullptr;
  for (const ReplayFrame& other : report_.replay.frames) {
    if (other.index <= frame.index || (outer && outer->index < other.index) || other.inlined_at.value != 0) continue;
    const int module = ModuleAt(other.entry.value);
    if (module != ModuleAt(frame.entry.value)) continue;
    if (options_.changed_calls.contains(other.index)) continue;
    if (translation.FindFunction(other.entry.value - modules_[module].base, other.linkage_name)) outer = &other;
  }
  const std::string twin = "; a twin has it (recrash_twin)";
  if (!outer) return twin;
  return "; the test of frame " + std::to_string(outer->index) + " (" + outer->function + ") runs it too" + twin;
}

// Where the function is now: in a rebuilt module where its name is found.
void PlanBuilder::PlaceEntry(const ReplayFrame& frame, plan::Frame* planned) {
  planned->entry = frame.entry.value;
  planned->rebuilt_module = -1;
  const int module = ModuleAt(frame.needs_twin() ? frame.inlined_at.value : frame.entry.value);
  if (module < 0 || !rebuilt_[module]) {
    planned->is_gone = frame.needs_twin();
    if (planned->is_gone) planned->problem = AddText("its function is inlined in this build: run it in a twin");
    return;
  }
  const ModuleTranslation& translation = translations_.at(module);
  const auto function = frame.inlined_at.value != 0
                            ? translation.FindFunctionNamed(frame.linkage_name)
                            : translation.FindFunction(frame.entry.value - modules_[module].base, frame.linkage_name);
  const auto made_local = options_.made_local.find(frame.index);
  const bool is_changed = options_.changed_calls.contains(frame.index);
  planned->entry = made_local != options_.made_local.end() ? made_local->second : function ? function->first : 0;
  planned->rebuilt_module = module;
  if (planned->entry != 0 && !is_changed) return;
  planned->entry = 0;
  const std::string name = frame.function.empty() ? frame.linkage_name : frame.function;
  if (const auto successor = options_.successors.find(frame.index); successor != options_.successors.end()) {
    planned->entry = successor->second.offset;
    planned->in_place = AddText(PrintableText(successor->second.name + " in place of " + name));
    planned->added = AddText(PrintableText(successor->second.added));
    return;
  }
  const Module& rebuilt = report_.modules[module];
  const std::string here = " in this build of " + (rebuilt.is_program ? "the program" : BaseName(rebuilt.path));
  std::string problem =
      is_changed ? name + " may get its arguments in another way" + here + WhoHasInlined(frame, translation)
      : options_.inlined.contains(frame.index) ? name + " is inlined" + here + WhoHasInlined(frame, translation)
      : translation.MayBeAnotherLambda(frame.linkage_name)
          ? name + " may be another lambda" + here + ": compilers number them"
          : name + " is not" + here + ": removed, renamed, inlined, or its signature has changed";
  if (const auto found = options_.candidates.find(frame.index); found != options_.candidates.end())
    for (const std::string& candidate : found->second)
      problem += (&candidate == found->second.data() ? "; it may be " : ", or ") + candidate;
  planned->problem = AddText(problem);
  planned->is_gone = 1;
}

plan::Array PlanBuilder::AddWords(const std::vector<ReplayWord>& words) {
  std::vector<plan::Word> planned;
  for (const ReplayWord& word : words) {
    plan::Word& out = planned.emplace_back();
    out.location = static_cast<uint8_t>(word.location);
    out.parameter = word.parameter;
    out.stack_offset = word.stack_offset;
    out.size = std::min<uint16_t>(word.size, 16);
    out.source_offset = word.source_offset;
    memcpy(out.bytes, word.bytes.data(), 16);
  }
  return AddTable(planned);
}

void PlanBuilder::AddFields(const std::vector<ReplayField>& fields, plan::Frame* planned) {
  std::vector<plan::Patch> patches;
  for (const bool deep : {false, true}) {
    if (deep) planned->shallow_fields = static_cast<uint32_t>(patches.size());
    for (const ReplayField& field : fields)
      if ((field.depth > 1) == deep) AddPatch(&patches, field.address, field.bytes);
  }
  planned->fields = AddTable(patches);
}

void PlanBuilder::AddFrame(const ReplayFrame& frame) {
  plan::Frame planned{};
  planned.index = frame.index;
  planned.name = AddText(PrintableText(frame.function.empty() ? ReadableSymbol(frame.linkage_name) : frame.function));
  planned.entry_sp = frame.entry_sp.value;
  planned.start = frame.start;
  planned.inlined = frame.inlined_at.value != 0;
  PlaceEntry(frame, &planned);
  if (planned.entry == 0 && planned.problem == 0) planned.problem = AddText("the function's address is not known");
  if ((planned.entry_sp == 0 || planned.entry_sp % 8 != 0) && planned.problem == 0)
    planned.problem = AddText("the stack pointer at its entry is not known");
  // g++ calls functions of the same file that call nobody themselves without the ABI's alignment. Another build needs
  // it.
  const auto is_on_stack = [](const ReplayWord& word) { return word.location == abi::Location::kStack; };
  if (planned.rebuilt_module >= 0 && planned.entry_sp % 16 == 0 && std::ranges::none_of(frame.words, is_on_stack))
    planned.entry_sp -= 8;
  const auto problem = options_.problems.find(frame.index);
  if (problem != options_.problems.end() && planned.problem == 0) planned.problem = AddText(problem->second);
  const EntryState* const state = report_.replay.FindEntryState(frame.index);
  planned.words = AddWords(state && !state->arguments.empty() ? state->arguments : frame.words);
  AddFields(frame.fields, &planned);
  std::vector<plan::Stream> streams;
  for (const ReplayStream& stream : frame.streams) {
    streams.push_back({stream.parameter, static_cast<uint8_t>(stream.kind), stream.offset});
  }
  planned.streams = AddTable(streams);
  std::vector<plan::Text> caught;
  for (const std::string& type : frame.caught) caught.push_back(AddText(type));
  planned.caught = AddTable(caught);
  planned.dangling = AddText(frame.dangling);
  std::vector<plan::Patch> variables;
  if (const auto found = options_.variables.find(frame.index); found != options_.variables.end())
    for (const auto& [address, bytes] : found->second) AddPatch(&variables, {address}, bytes);
  planned.variables = AddTable(variables);
  AddLiterals(frame, &planned);
  if (state) planned.entry_state = AddTable(std::vector{AddEntryState(*state)});
  frames_.push_back(planned);
}

namespace {

bool HasAddressSanitizer(const std::vector<Symbol>& symbols) {
  return std::ranges::find(symbols, "__asan_init", &Symbol::name) != symbols.end();
}

// The size of a variable in a build of clang's AddressSanitizer: with the red zone behind it.
uint64_t WithRedZone(uint64_t size) {
  constexpr uint64_t kUnit = 32, kLongest = 1 << 18;
  if (size <= kUnit / 2) return kUnit;
  const uint64_t zone = std::clamp(size / kUnit / 4 * kUnit, kUnit, kLongest);
  return (size + zone + kUnit - 1) / kUnit * kUnit;
}

// Says whether the contents of a variable move to the new build as they are. A guard variable says that a static local
// has been initialised, and has no type that could have changed. What our agent keeps is about its own process: which
// function is the next pthread_create, in a build with a sanitizer.
bool IsCopied(const TranslatedSymbol& symbol, bool has_red_zones) {
  if (!symbol.found || symbol.is_function || IsToolSymbol(NameInKey(symbol.name))) return false;
  if (has_red_zones && symbol.new_size == WithRedZone(symbol.size)) return true;
  return symbol.size == symbol.new_size || symbol.name.starts_with("_ZGV");
}

}  // namespace

void PlanBuilder::AddSymbols(const ModuleTranslation& translation, plan::Module* module) {
  const bool is_rebuilt = module->flags & plan::kOtherBuild;
  const bool has_red_zones = HasAddressSanitizer(translation.only_rebuilt());
  std::vector<plan::Symbol> symbols;
  const auto add = [&](const std::string& name, bool is_function, plan::Symbol symbol) {
    if (is_function) symbol.flags |= plan::kFunction;
    if (is_function && IsToolFunction(name)) symbol.flags |= plan::kTool;
    symbol.name = AddText(ReadableSymbol(name));
    symbols.push_back(symbol);
  };
  for (const TranslatedSymbol& symbol : translation.symbols()) {
    const uint32_t translated = symbol.found ? plan::kTranslated : 0;
    add(symbol.name, symbol.is_function,
        {symbol.offset, symbol.size, symbol.new_offset, symbol.new_size, 0,
         translated | (IsCopied(symbol, has_red_zones) ? plan::kCopied : 0)});
  }
  // The others name code as well, and say which of it is ours. No recorded word leads to them.
  for (const Symbol& symbol : translation.only_rebuilt()) {
    const uint64_t recorded = is_rebuilt ? UINT64_MAX : symbol.offset;
    if (symbol.is_function)
      add(symbol.name, true, {recorded, symbol.size, symbol.offset, symbol.size, 0, plan::kTranslated});
  }
  module->symbols = AddTable(symbols);
}

void PlanBuilder::AddSymbols() {
  for (const auto& [module, translation] : translations_) AddSymbols(translation, &modules_[module]);
  // A C++ runtime that was linked statically cannot be found by dlsym.
  for (const Symbol& symbol : program_.symbols) {
    if (std::ranges::find(kRuntimeSymbols, symbol.name) != std::end(kRuntimeSymbols))
      runtime_symbols_.push_back({AddText(symbol.name), symbol.offset});
  }
}

}  // namespace recrash
