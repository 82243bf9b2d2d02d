#include "testgen/symbols/files/elf_file.h"

#include <stdlib.h>

#include <algorithm>
#include <tuple>

namespace recrash {
namespace {

// Returns the first symbol behind those that begin at `address` or before it.
auto After(const std::vector<ElfSymbol>& symbols, uint64_t address) {
  return std::ranges::upper_bound(symbols, address, {}, &ElfSymbol::address);
}

}  // namespace

Result<std::unique_ptr<ElfFile>> ElfFile::Open(const std::string& path) {
  Result<ElfImage> image = ElfImage::Open(path);
  if (!image) return image.error();
  return std::unique_ptr<ElfFile>(new ElfFile(*std::move(image), path));
}

std::string ElfFile::debug_link() const {
  const ElfSection* section = FindSection(".gnu_debuglink");
  if (section == nullptr) return "";
  return {section->bytes.begin(), std::ranges::find(section->bytes, 0)};
}

const std::vector<ElfSymbol>& ElfFile::symbols() {
  if (symbols_) return *symbols_;
  symbols_.emplace();
  VisitSymbols([this](const ElfSymbol& symbol) {
    if (!symbol.is_thread_local) symbols_->push_back(symbol);
  });
  // Global names come first: the first function at an address is the one that people are shown.
  std::ranges::sort(*symbols_, [](const ElfSymbol& a, const ElfSymbol& b) {
    return std::tie(a.address, a.is_local, a.name) < std::tie(b.address, b.is_local, b.name);
  });
  return *symbols_;
}

std::optional<FunctionRange> ElfFile::FunctionAt(uint64_t address) {
  const std::vector<ElfSymbol>& all = symbols();
  auto after = After(all, address);
  // Nested symbols and symbols of size 0 may stand between the function's own symbol and the address.
  for (int steps = 0; after != all.begin() && steps < 64; ++steps) {
    const ElfSymbol& symbol = *--after;
    if (!symbol.is_function || symbol.size == 0 || address - symbol.address >= symbol.size) continue;
    FunctionRange range{symbol.address, symbol.size, {}};
    for (const ElfSymbol& alias : std::ranges::equal_range(all, symbol.address, {}, &ElfSymbol::address))
      if (alias.is_function) range.names.push_back(alias.name);
    return range;
  }
  return FunctionWithoutSymbol(address);
}

std::vector<uint64_t> ElfFile::FunctionsNamed(std::string_view name) {
  if (functions_.empty())
    for (const ElfSymbol& symbol : symbols())
      if (symbol.is_function && symbol.size != 0) functions_.emplace(symbol.name, symbol.address);
  std::vector<uint64_t> addresses;
  for (auto [at, end] = functions_.equal_range(name); at != end; ++at) addresses.push_back(at->second);
  return addresses;
}

// .eh_frame_hdr says where functions begin. Call frame information says where they end: its rows follow one another up
// to the end of the function.
std::optional<FunctionRange> ElfFile::FunctionWithoutSymbol(uint64_t address) {
  const std::optional<uint64_t> start = eh_frame() == nullptr ? std::nullopt : FunctionStart(address);
  if (!start) return std::nullopt;
  Dwarf_Addr end = *start;
  Dwarf_Frame* row = nullptr;
  while (FunctionStart(end) == start && dwarf_cfi_addrframe(eh_frame(), end, &row) == 0) {
    Dwarf_Addr next = 0;
    dwarf_frame_info(row, nullptr, &next, nullptr);
    free(row);
    if (next <= end) break;
    end = next;
  }
  if (address >= end) return std::nullopt;
  return FunctionRange{*start, end - *start, {}};
}

const ElfSymbol* ElfFile::ObjectAt(uint64_t address) {
  const std::vector<ElfSymbol>& all = symbols();
  auto after = After(all, address);
  for (int steps = 0; after != all.begin() && steps < 16; ++steps) {
    const ElfSymbol& symbol = *--after;
    if (!symbol.is_function && address - symbol.address < symbol.size) return &symbol;
  }
  return nullptr;
}

// libdw finds .dwo files by the file's descriptor.
Elf* ElfFile::elf() {
  elf_version(EV_CURRENT);
  if (elf_ == nullptr) elf_.reset(elf_begin(descriptor(), ELF_C_READ_MMAP_PRIVATE, nullptr));
  return elf_.get();
}

Dwarf* ElfFile::dwarf() {
  if (!dwarf_) {
    const bool has_any = has_dwarf() || FindSection(".debug_frame") != nullptr;
    dwarf_.emplace(has_any ? dwarf_begin_elf(elf(), DWARF_C_READ, nullptr) : nullptr);
  }
  return dwarf_->get();
}

Dwarf_CFI* ElfFile::eh_frame() {
  if (!eh_frame_) eh_frame_.emplace(has_code() ? dwarf_getcfi_elf(elf()) : nullptr);
  return eh_frame_->get();
}

// The Dwarf handle owns this table, unlike that of .eh_frame.
Dwarf_CFI* ElfFile::debug_frame() { return dwarf() == nullptr ? nullptr : dwarf_getcfi(dwarf()); }

}  // namespace recrash
