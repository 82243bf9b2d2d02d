#include "testgen/symbols/files/elf_file.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <tuple>

#include "agent/base/ordinary_path.h"

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

// What several files share of their debug information (dwz) lies in one more file. libdw would open whatever is named,
// wait at a pipe for ever, and do to a device what opening it does. So it is given the file, if it is an ordinary one.
bool ElfFile::OpenShared(Dwarf* dwarf) {
  const std::span<const uint8_t> link = FindSection(".gnu_debugaltlink")->bytes;
  const auto end = std::ranges::find(link, uint8_t{0});
  if (end == link.end()) return false;
  const std::filesystem::path name(std::string(link.begin(), end));
  const std::span<const uint8_t> id(end + 1, link.end());
  const std::string path = (std::filesystem::absolute(path_).parent_path() / name).lexically_normal();
  struct stat status;
  if (!IsOrdinaryPath(path) || stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  shared_file_ = Fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!shared_file_ || fstat(shared_file_.get(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  shared_elf_.reset(elf_begin(shared_file_.get(), ELF_C_READ_MMAP_PRIVATE, nullptr));
  const void* found = nullptr;
  const ssize_t size = dwelf_elf_gnu_build_id(shared_elf_.get(), &found);
  if (size <= 0 || !std::ranges::equal(id, std::span(static_cast<const uint8_t*>(found), static_cast<size_t>(size))))
    return false;
  shared_.reset(dwarf_begin_elf(shared_elf_.get(), DWARF_C_READ, nullptr));
  const char* next = nullptr;
  const void* next_id = nullptr;
  if (!shared_ || dwelf_dwarf_gnu_debugaltlink(shared_.get(), &next, &next_id) != 0) return false;  // no chains
  dwarf_setalt(dwarf, shared_.get());
  return true;
}

Dwarf* ElfFile::dwarf() {
  if (!dwarf_) {
    const bool has_any = has_dwarf() || FindSection(".debug_frame") != nullptr;
    dwarf_.emplace(has_any ? dwarf_begin_elf(elf(), DWARF_C_READ, nullptr) : nullptr);
    if (*dwarf_ && FindSection(".gnu_debugaltlink") != nullptr && !OpenShared(dwarf_->get())) dwarf_->reset();
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
