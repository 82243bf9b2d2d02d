#include "testgen/symbols/source_place.h"

#include <algorithm>
#include <optional>

#include "agent/base/readable_name.h"
#include "agent/base/text.h"
#include "agent/base/tool_function.h"
#include "agent/elf/elf_notes.h"
#include "agent/elf/symbol_key.h"
#include "testgen/symbols/dwarf/plain_function.h"
#include "testgen/symbols/source_chain.h"
#include "testgen/symbols/stack/handlers.h"
#include "testgen/symbols/stack/jumps_out.h"

namespace recrash {
namespace {

constexpr uint64_t kPage = 4096;
// Modules of today have no addresses: they are put far apart.
constexpr uint64_t kDistance = 1ull << 40;

bool Contains(const std::vector<SourceFrame>& chain, const std::string& function) {
  return std::ranges::find(chain, function, &SourceFrame::function) != chain.end();
}

std::optional<Module> ModuleOf(const std::string& file, uint64_t base, bool is_program) {
  const Result<ElfFacts> elf = ReadElf(file);
  if (!elf || elf->loads.empty()) return std::nullopt;
  Module module;
  module.path = file;
  module.build_id = elf->build_id;
  module.base = {base};
  const uint64_t start = elf->loads.front().vaddr & ~(kPage - 1);
  module.size = elf->loads.back().vaddr + elf->loads.back().memory_size - start;
  module.bias = base - start;
  module.is_program = is_program;
  return module;
}

// Which of several calls the recorded one is in this build, nobody knows: what one of them is not guarded against
// counts as not caught.
std::vector<std::string> CaughtByBoth(const std::vector<std::string>& one, const std::vector<std::string>& other) {
  const auto catches = [](const std::vector<std::string>& types, const std::string& type) {
    return std::ranges::find(types, type) != types.end() || std::ranges::find(types, "") != types.end();
  };
  std::vector<std::string> both;
  for (const std::string& type : one)
    if (catches(other, type)) both.push_back(type);
  for (const std::string& type : other)
    if (catches(one, type) && std::ranges::find(both, type) == both.end()) both.push_back(type);
  return both;
}

}  // namespace

SourcePlaces::SourcePlaces(const TestReport& report, const std::vector<std::string>& files,
                           const std::vector<std::string>& search_paths)
    : report_(report), module_now_(report.modules.size(), -1) {
  std::string program;
  for (size_t i = 0; i < std::min(files.size(), report.modules.size()); ++i) {
    if (files[i].empty()) continue;
    const auto module = ModuleOf(files[i], (i + 1) * kDistance, report.modules[i].is_program);
    if (!module) continue;
    if (module->is_program) program = files[i];
    module_now_[i] = static_cast<int>(now_.modules.size());
    now_.modules.push_back(*module);
  }
  Result<Symbols> symbols = Symbols::Open(now_, {.program = program, .search_paths = search_paths});
  if (symbols) symbols_.emplace(*std::move(symbols));
}

bool SourcePlaces::IsRecorded(const std::string& function) {
  if (Contains(report_.replay.place.chain, function)) return true;
  if (!recorded_) {
    recorded_.emplace();
    for (const ModuleImage& image : report_.replay.images)
      for (const Symbol& symbol : image.symbols)
        if (symbol.is_function) recorded_->insert(SourceName(Demangle(NameInKey(symbol.name))));
  }
  return recorded_->contains(function);
}

const std::set<TargetAddress>& SourcePlaces::Here(const std::string& function) {
  if (!here_) {
    here_.emplace();
    for (const Module& module : now_.modules) {
      LoadedModule* loaded = symbols_->modules().Find(module.base);
      if (!loaded) continue;
      for (const ElfSymbol& symbol : loaded->names->symbols())
        if (symbol.is_function)
          (*here_)[SourceName(Demangle(std::string(symbol.name)))].insert({symbol.address + loaded->bias()});
    }
  }
  static const std::set<TargetAddress> kNone;
  const auto found = here_->find(function);
  return found == here_->end() ? kNone : found->second;
}

std::vector<std::string> SourcePlaces::CaughtFrom(uint32_t frame) {
  std::vector<std::string> caught;
  const auto& frames = report_.replay.frames;
  const std::vector<SourceFrame>& chain = report_.replay.place.chain;
  const auto thrower = std::ranges::find(frames, frame, &ReplayFrame::index);
  if (!symbols_ || thrower == frames.end()) return caught;
  const auto start = std::ranges::find(chain, SourceName(thrower->function), &SourceFrame::function);
  if (start == chain.end()) return caught;
  HandlerReader reader(symbols_->modules());
  std::set<TargetAddress> callees = Here(start->function);
  for (auto caller = start + 1; caller != chain.end(); ++caller) {
    if (CountsCaughtInMain(report_.failure) && caller->function == "main") return caught;
    const std::set<TargetAddress>& callers = Here(caller->function);
    std::optional<std::vector<std::string>> types;
    for (const TargetAddress function : callers) {
      for (const TargetAddress call : reader.CallsIn(function, callees)) {
        const Handlers here = reader.At(call);
        if (here.ends) return caught;
        types = types ? CaughtByBoth(*types, here.types) : here.types;
      }
    }
    // A caller that was inlined has no calls; the function around it has.
    if (!types) continue;
    callees = callers;
    caught.insert(caught.end(), types->begin(), types->end());
  }
  return caught;
}

// 0 where no file is loaded for the module.
TargetAddress SourcePlaces::Now(const CodeAddress& address) const {
  const int module = address.module < module_now_.size() ? module_now_[address.module] : -1;
  return module < 0 ? TargetAddress{} : now_.modules[static_cast<size_t>(module)].base + address.offset;
}

PlaceCode SourcePlaces::RecordedPlace() { return symbols_ ? FindPlaceCode(report_.replay, *symbols_) : PlaceCode(); }

std::optional<CodeAddress> SourcePlaces::AddressOf(TargetAddress now) const {
  for (size_t i = 0; i < module_now_.size(); ++i) {
    if (module_now_[i] < 0) continue;
    const Module& module = now_.modules[static_cast<size_t>(module_now_[i])];
    if (now.value - module.base.value < module.size) return CodeAddress{i, now - module.base, true};
  }
  return std::nullopt;
}

// A library called it, and in this build it ends in a jump to a function of a library, which failed.
std::optional<TargetAddress> SourcePlaces::LeftByJump(const std::vector<SourceFrame>& chain, size_t outside) {
  const std::vector<SourceFrame>& recorded = report_.replay.place.chain;
  if (outside < 2 || recorded.size() < 2 || recorded[1].function != chain.front().function) return std::nullopt;
  for (const TargetAddress entry : Here(recorded.front().function)) {
    const CodeInfo& code = symbols_->code().At(entry);
    if (!code.scopes) continue;
    const std::vector<JumpOut> jumps = JumpsOutOf(code.scopes->function);
    if (!jumps.empty()) return TargetAddress{jumps.front().address + code.module->bias()};
  }
  return std::nullopt;
}

SeenPlace SourcePlaces::At(std::span<const CodeAddress> stack, std::optional<CodeAddress> called) {
  SeenPlace seen;
  if (!symbols_) return seen;
  SourceChainReader reader(symbols_->code());
  for (const CodeAddress& address : stack) {
    if (reader.is_full()) break;
    reader.Add(Now(address), address.exact);
  }
  if (called && Now(*called).value) reader.AddCalled(Now(*called));
  const std::vector<SourceFrame>& chain = reader.functions();
  const bool has_debug = reader.has_debug();
  seen.where = reader.where();
  const std::vector<SourceFrame>& recorded = report_.replay.place.chain;
  if (recorded.empty() || chain.empty() || !has_debug) return seen;
  if (chain.front().function == recorded.front().function) {
    seen.same = true;
    return seen;
  }
  if (const auto jump = LeftByJump(chain, reader.outside())) {
    const CodeInfo& code = symbols_->code().At(*jump);
    if (!code.live.empty()) seen.where = WhereIn(code.live.front());
    seen.same = true;
    return seen;
  }
  const auto here = std::ranges::find_if(chain, [&](const SourceFrame& f) { return IsRecorded(f.function); });
  const auto then = std::ranges::find_if(
      recorded, [&](const SourceFrame& f) { return Contains(chain, f.function) || !Here(f.function).empty(); });
  seen.same = here != chain.end() && then != recorded.end() && here->function == then->function;
  return seen;
}

}  // namespace recrash
