#include "agent/report/modules.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <tuple>

#include "agent/base/signal_safe/pages.h"
#include "agent/base/text.h"
#include "agent/elf/symbol_key.h"
#include "agent/report/maps.h"

namespace recrash {
namespace {

using signal_safe::PageDown;
using signal_safe::PageUp;

constexpr std::string_view kDeleted = " (deleted)";

// A program that is not PIE is linked below 4 GiB (0x400000 by default); everything else the kernel and ld.so put far
// above, with address randomisation off as well.
constexpr uint64_t kFixedProgramsEnd = uint64_t{1} << 32;

// Devices and unnamed files (/memfd:, /SYSV…, /dev/zero) may be executable, as a JIT's memory is, and are no modules.
bool MayBeModule(std::string_view path) {
  return path == "[vdso]" || (path.starts_with('/') && !path.starts_with("/dev/") && !path.starts_with("/memfd:") &&
                              !path.starts_with("/SYSV") && !path.starts_with("/anon_hugepage"));
}

std::string_view WithoutDeleted(std::string_view path) {
  if (path.ends_with(kDeleted)) path.remove_suffix(kDeleted.size());
  return path;
}

// A file may be mapped as data too, by a tool that reads itself. Its code then does not lie where it would be executed.
bool IsLoadedAt(std::span<const Mapping> mappings, const ElfFacts& facts, TargetAddress base) {
  const uint64_t first = PageDown(facts.loads.front().vaddr);
  const auto code = std::ranges::find_if(facts.loads, &ElfLoad::executable);
  if (code == facts.loads.end()) return true;
  const Mapping* mapping = FindMapping(mappings, base + (code->vaddr - first));
  return mapping != nullptr && (mapping->flags & kMapExecute) != 0;
}

std::optional<Module> FromFile(std::span<const Mapping> mappings, const Mapping& start, const ElfFacts& facts) {
  const ElfLoad& first = facts.loads.front();
  const ElfLoad& last = facts.loads.back();
  if (start.file_offset != PageDown(first.offset) || !IsLoadedAt(mappings, facts, start.start)) return std::nullopt;
  Module module;
  module.build_id = facts.build_id;
  module.base = start.start;
  module.size = PageUp(last.vaddr + last.memory_size) - PageDown(first.vaddr);
  module.bias = start.start.value - PageDown(first.vaddr);
  return module;
}

// Used when the file cannot be read: takes the neighbouring mappings of the same name, and the anonymous mapping behind
// them, which is .bss.
std::optional<Module> FromNeighbours(std::span<const Mapping> mappings, const Mapping& start) {
  if (start.file_offset != 0) return std::nullopt;
  bool executable = false;
  TargetAddress end = start.end;
  for (const Mapping* next = &start; next != mappings.data() + mappings.size(); ++next) {
    const bool same = next->path == start.path && (next == &start || next->file_offset != 0);
    const bool bss = next->path.empty() && next->start == end && (next->flags & kMapWrite) != 0;
    if (!same && !bss) break;
    if (next->flags & kMapExecute) executable = true;
    end = next->end;
  }
  if (!executable) return std::nullopt;
  Module module;
  module.base = start.start;
  module.size = end - start.start;
  module.bias = start.start.value < kFixedProgramsEnd ? 0 : start.start.value;
  return module;
}

}  // namespace

ElfLookup LookupFiles(const std::string& root) {
  return [root](const Mapping& first) -> Result<ElfFacts> {
    if (!first.path.starts_with('/') || first.path.ends_with(kDeleted))
      return Error{Errc::kMissing, first.path + ": not on disk"};
    return ReadElf(root + first.path);
  };
}

std::vector<Module> ModulesFromMappings(std::span<const Mapping> mappings, const std::string& program,
                                        const ElfLookup& lookup) {
  std::vector<Module> modules;
  TargetAddress end;  // of the last module
  for (const Mapping& mapping : mappings) {
    if (mapping.start < end || !MayBeModule(mapping.path)) continue;
    const Result<ElfFacts> facts = lookup(mapping);
    std::optional<Module> module;
    if (facts)
      module = FromFile(mappings, mapping, *facts);
    else if (facts.error().code != Errc::kDamaged)  // a data file is read, and is no ELF file
      module = FromNeighbours(mappings, mapping);
    if (!module) continue;
    module->path = WithoutDeleted(mapping.path);
    module->is_program = module->path == WithoutDeleted(program);
    end = module->base + module->size;
    modules.push_back(std::move(*module));
  }
  return modules;
}

namespace {

std::vector<Symbol> SortedSymbols(const ElfImage& image, uint64_t base, bool thread_local_ones) {
  std::vector<Symbol> symbols;
  image.VisitSymbols([&](const ElfSymbol& symbol) {
    if (symbol.is_thread_local != thread_local_ones || symbol.address < base) return;
    symbols.push_back(
        {symbol.address - base, symbol.size, symbol.is_function, SymbolKey(symbol.name, symbol.is_local, symbol.file)});
  });
  std::ranges::sort(symbols, [](const Symbol& a, const Symbol& b) {
    return std::tie(a.offset, a.name) < std::tie(b.offset, b.name);
  });
  return symbols;
}

}  // namespace

std::vector<Symbol> SymbolsOf(const ElfImage& image, uint64_t base_vaddr, size_t most) {
  std::vector<Symbol> symbols = SortedSymbols(image, base_vaddr, false);
  symbols.resize(std::min(symbols.size(), most));
  return symbols;
}

std::vector<Symbol> ThreadLocalsOf(const ElfImage& image) {
  return image.has_symtab() ? SortedSymbols(image, 0, true) : std::vector<Symbol>();
}

bool IsLoader(const Module& module) {
  const std::string name = BaseName(module.path);
  return name.starts_with("ld-linux") || name.starts_with("ld-2.");
}

}  // namespace recrash
