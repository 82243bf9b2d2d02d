#include "agent/elf/elf_image.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "agent/base/fd.h"
#include "agent/elf/symbol_key.h"
#include "shadowstack/abi.h"
#include "shadowstack/frame_table.h"

namespace recrash {

Result<ElfImage> ElfImage::Open(const std::string& path) {
  const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status;
  if (!file || fstat(file.get(), &status) != 0)
    return Error{Errc::kMissing, path + ": cannot be read: " + std::strerror(errno)};
  const auto size = static_cast<uint64_t>(status.st_size);
  void* bytes =
      S_ISREG(status.st_mode) && size > 0 ? mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0) : MAP_FAILED;
  if (bytes == MAP_FAILED) return Error{Errc::kRefused, path + ": cannot be mapped"};
  ElfImage image;
  image.bytes_ = static_cast<const uint8_t*>(bytes);
  image.size_ = size;
  Result<ElfFacts> facts = ParseElfHead({image.bytes_, size}, path);
  if (!facts) return facts.error();
  image.facts_ = *std::move(facts);
  return image;
}

ElfImage::ElfImage(ElfImage&& other) noexcept
    : bytes_(std::exchange(other.bytes_, nullptr)), size_(other.size_), facts_(std::move(other.facts_)) {}

ElfImage::~ElfImage() {
  if (bytes_ != nullptr) munmap(const_cast<uint8_t*>(bytes_), size_);
}

std::span<const uint8_t> ElfImage::FileBytes(uint64_t offset, uint64_t size) const {
  if (offset > size_ || size > size_ - offset) return {};
  return {bytes_ + offset, size};
}

template <typename T>
std::optional<T> ElfImage::Read(uint64_t offset) const {
  const std::span<const uint8_t> bytes = FileBytes(offset, sizeof(T));
  if (bytes.empty()) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

std::span<const uint8_t> ElfImage::Bytes(uint64_t address, size_t size) const {
  for (const ElfLoad& load : facts_.loads) {
    if (address < load.vaddr || address - load.vaddr >= load.file_size) continue;
    const uint64_t skip = address - load.vaddr;
    return FileBytes(load.offset + skip, std::min<uint64_t>(size, load.file_size - skip));
  }
  return {};
}

std::optional<uint64_t> ElfImage::FunctionStart(uint64_t address) const {
  const std::span<const uint8_t> table = Bytes(facts_.frame_table, facts_.frame_table_size);
  for (const ElfLoad& load : facts_.loads) {
    if (!load.executable || address < load.vaddr || address - load.vaddr >= load.file_size) continue;
    const abi::CodeRange range =
        abi::FrameTable(table.data(), table.size(), facts_.frame_table).Find(address, load.vaddr + load.file_size);
    if (range.end != 0) return range.start;
  }
  return std::nullopt;
}

bool ElfImage::IsPatchable(uint64_t start) const {
  const std::span<const uint8_t> prefix = Bytes(start - abi::kEntryPrefixSize, sizeof abi::kEntryPrefix);
  return std::ranges::equal(prefix, abi::kEntryPrefix);
}

// call rel32; or an indirect one, two to seven bytes long: ff /2.
bool ElfImage::IsReturnAddress(uint64_t address) const {
  const std::span<const uint8_t> before = Bytes(address - 7, 7);
  if (before.size() < 7) return false;
  if (before[2] == 0xe8) return true;
  for (const size_t at : {0, 1, 3, 4, 5})
    if (before[at] == 0xff && (before[at + 1] >> 3 & 7) == 2) return true;
  return false;
}

template <typename Visit>
bool ElfImage::VisitSymbols(uint32_t table_type, Visit visit) const {
  bool found = false;
  const auto header = Read<Elf64_Ehdr>(0);
  for (unsigned i = 0; i < header->e_shnum; ++i) {
    const auto table = Read<Elf64_Shdr>(header->e_shoff + uint64_t{i} * sizeof(Elf64_Shdr));
    if (!table || table->sh_type != table_type) continue;
    const auto strings = Read<Elf64_Shdr>(header->e_shoff + uint64_t{table->sh_link} * sizeof(Elf64_Shdr));
    if (!strings) continue;
    found = true;
    const std::span<const uint8_t> text = FileBytes(strings->sh_offset, strings->sh_size);
    for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= table->sh_size; at += sizeof(Elf64_Sym)) {
      const auto symbol = Read<Elf64_Sym>(table->sh_offset + at);
      if (!symbol) break;
      if (symbol->st_name >= text.size()) continue;
      const char* name = reinterpret_cast<const char*>(text.data()) + symbol->st_name;
      visit(*symbol, std::string_view(name, strnlen(name, text.size() - symbol->st_name)));
    }
  }
  return found;
}

std::map<uint64_t, std::string> ElfImage::FunctionNames(const std::set<uint64_t>& starts) const {
  std::map<uint64_t, std::string> names;
  for (const uint32_t table : {SHT_SYMTAB, SHT_DYNSYM})
    VisitSymbols(table, [&](const Elf64_Sym& symbol, std::string_view name) {
      if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && starts.contains(symbol.st_value))
        names.emplace(symbol.st_value, name);
    });
  return names;
}

std::vector<KeyedSymbol> ElfImage::Symbols() const {
  std::vector<KeyedSymbol> symbols;
  std::string_view file;
  const auto take = [&](const Elf64_Sym& symbol, std::string_view name) {
    const int type = ELF64_ST_TYPE(symbol.st_info);
    if (type == STT_FILE) file = name;
    if ((type != STT_FUNC && type != STT_OBJECT && type != STT_GNU_IFUNC) || symbol.st_shndx == SHN_UNDEF ||
        name.empty())
      return;
    const bool is_local = ELF64_ST_BIND(symbol.st_info) == STB_LOCAL;
    symbols.push_back({symbol.st_value, symbol.st_size, type != STT_OBJECT, SymbolKey(name, is_local, file)});
  };
  if (!VisitSymbols(SHT_SYMTAB, take)) VisitSymbols(SHT_DYNSYM, take);
  return symbols;
}

}  // namespace recrash
