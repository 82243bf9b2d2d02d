#include "agent/client/watch/symbol_scan.h"

#include <elf.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "shadowstack/abi.h"

namespace recrash::watch {
namespace {

class ElfView {
 public:
  ElfView(const uint8_t* bytes, uint64_t size) : bytes_(bytes), size_(size) {}

  SymbolTable Visit(SymbolVisitor visitor, void* argument) const {
    if (!Holds(0, sizeof(Elf64_Ehdr)) || memcmp(bytes_, ELFMAG "\2\1", SELFMAG + 2) != 0) return SymbolTable::kNone;
    const auto* header = At<Elf64_Ehdr>(0);
    if (header->e_shentsize != sizeof(Elf64_Shdr) || header->e_shoff % alignof(Elf64_Shdr) != 0 ||
        !Holds(header->e_shoff, uint64_t{header->e_shnum} * sizeof(Elf64_Shdr)))
      return SymbolTable::kNone;
    const auto* sections = At<Elf64_Shdr>(header->e_shoff);
    constexpr uint32_t kTables[] = {SHT_SYMTAB, SHT_DYNSYM};
    for (const uint32_t type : kTables)
      for (unsigned i = 0; i < header->e_shnum; ++i)
        if (sections[i].sh_type == type && sections[i].sh_link < header->e_shnum &&
            VisitTable(sections[i], sections[sections[i].sh_link], visitor, argument))
          return type == SHT_SYMTAB ? SymbolTable::kWhole : SymbolTable::kExported;
    return SymbolTable::kNone;
  }

 private:
  bool Holds(uint64_t offset, uint64_t size) const { return offset <= size_ && size <= size_ - offset; }

  template <typename T>
  const T* At(uint64_t offset) const {
    return reinterpret_cast<const T*>(bytes_ + offset);
  }

  bool VisitTable(const Elf64_Shdr& table, const Elf64_Shdr& names, SymbolVisitor visitor, void* argument) const {
    if (!Holds(table.sh_offset, table.sh_size) || !Holds(names.sh_offset, names.sh_size) ||
        table.sh_offset % alignof(Elf64_Sym) != 0)
      return false;
    const char* text = At<char>(names.sh_offset);
    const auto* symbols = At<Elf64_Sym>(table.sh_offset);
    for (uint64_t i = 0; i < table.sh_size / sizeof(Elf64_Sym); ++i) {
      const Elf64_Sym& symbol = symbols[i];
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF || symbol.st_name >= names.sh_size)
        continue;
      const char* name = text + symbol.st_name;
      visitor(symbol.st_value, abi::HashLinkageName(name, strnlen(name, names.sh_size - symbol.st_name)), argument);
    }
    return true;
  }

  const uint8_t* bytes_;
  uint64_t size_;
};

}  // namespace

SymbolTable VisitFunctions(int file, SymbolVisitor visitor, void* argument) {
  struct stat status;
  if (fstat(file, &status) != 0 || status.st_size <= 0) return SymbolTable::kNone;
  const auto size = static_cast<uint64_t>(status.st_size);
  void* bytes = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  if (bytes == MAP_FAILED) return SymbolTable::kNone;
  const SymbolTable found = ElfView(static_cast<const uint8_t*>(bytes), size).Visit(visitor, argument);
  munmap(bytes, size);
  return found;
}

}  // namespace recrash::watch
