#include "testgen/symbols/files/elf_file.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <tuple>

#include "agent/base/text.h"
#include "testgen/symbols/files/eh_frame.h"

namespace recrash {
Result<std::unique_ptr<ElfFile>> ElfFile::Open(const std::string& path) {
  elf_version(EV_CURRENT);
  std::unique_ptr<ElfFile> file(new ElfFile);
  file->path_ = path;
  file->fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file->fd_ < 0) return Error{Errc::kMissing, path + ": " + strerror(errno)};
  file->elf_ = elf_begin(file->fd_, ELF_C_READ_MMAP_PRIVATE, nullptr);
  GElf_Ehdr header;
  if (file->elf_ == nullptr || elf_kind(file->elf_) != ELF_K_ELF || gelf_getehdr(file->elf_, &header) == nullptr)
    return Error{Errc::kMissing, path + ": not an ELF file"};
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != EM_X86_64)
    return Error{Errc::kMissing, path + ": not an ELF file for x86-64"};
  file->ReadHeaders();
  return file;
}

ElfFile::~ElfFile() {
  if (eh_frame_ != nullptr) dwarf_cfi_end(eh_frame_);
  if (dwarf_ != nullptr) dwarf_end(dwarf_);
  if (elf_ != nullptr) elf_end(elf_);
  if (fd_ >= 0) close(fd_);
}

void ElfFile::ReadHeaders() {
  const void* id = nullptr;
  const ssize_t id_size = dwelf_elf_gnu_build_id(elf_, &id);
  if (id_size > 0) build_id_ = Hex({static_cast<const uint8_t*>(id), static_cast<size_t>(id_size)});
  GElf_Word crc = 0;
  if (const char* link = dwelf_elf_gnu_debuglink(elf_, &crc)) debug_link_ = link;

  size_t names = 0;
  elf_getshdrstrndx(elf_, &names);
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf_, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) continue;
    const char* name = elf_strptr(elf_, names, header.sh_name);
    if (name == nullptr) continue;
    if (header.sh_type == SHT_PROGBITS && (header.sh_flags & SHF_EXECINSTR) != 0 && header.sh_size > 0)
      has_code_ = true;
    if (header.sh_type == SHT_SYMTAB) has_symtab_ = true;
    if (strcmp(name, ".debug_info") == 0 && header.sh_type != SHT_NOBITS) has_dwarf_ = true;
  }

  size_t file_size = 0;
  const char* raw = elf_rawfile(elf_, &file_size);
  size_t count = 0;
  elf_getphdrnum(elf_, &count);
  for (size_t i = 0; i < count; ++i) {
    GElf_Phdr header;
    if (gelf_getphdr(elf_, static_cast<int>(i), &header) == nullptr || header.p_type != PT_LOAD) continue;
    ElfSegment segment;
    segment.address = header.p_vaddr;
    segment.memory_size = header.p_memsz;
    segment.writable = (header.p_flags & PF_W) != 0;
    segment.executable = (header.p_flags & PF_X) != 0;
    if (raw != nullptr && has_code_ && header.p_offset <= file_size && header.p_filesz <= file_size - header.p_offset)
      segment.bytes = {reinterpret_cast<const uint8_t*>(raw) + header.p_offset, header.p_filesz};
    segments_.push_back(segment);
  }
}

std::optional<ElfSection> ElfFile::FindSection(std::string_view wanted) const {
  size_t names = 0;
  elf_getshdrstrndx(elf_, &names);
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf_, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) continue;
    const char* name = elf_strptr(elf_, names, header.sh_name);
    if (name == nullptr || wanted != name || header.sh_type == SHT_NOBITS) continue;
    const Elf_Data* data = elf_rawdata(section, nullptr);
    if (data == nullptr || data->d_buf == nullptr) continue;
    return ElfSection{header.sh_addr, {static_cast<const uint8_t*>(data->d_buf), data->d_size}};
  }
  return std::nullopt;
}

const std::vector<ElfSymbol>& ElfFile::symbols() {
  if (symbols_read_) return symbols_;
  symbols_read_ = true;
  const uint32_t wanted = has_symtab_ ? SHT_SYMTAB : SHT_DYNSYM;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf_, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) != nullptr && header.sh_type == wanted) ReadSymbols(section, &header);
  }
  // Global names come first: the first function at an address is the one that people are shown.
  std::sort(symbols_.begin(), symbols_.end(), [](const ElfSymbol& a, const ElfSymbol& b) {
    return std::tie(a.address, a.is_local, a.name) < std::tie(b.address, b.is_local, b.name);
  });
  return symbols_;
}

void ElfFile::ReadSymbols(Elf_Scn* section, const void* header_bytes) {
  const auto& header = *static_cast<const GElf_Shdr*>(header_bytes);
  Elf_Data* data = elf_getdata(section, nullptr);
  if (data == nullptr || header.sh_entsize == 0) return;
  std::string file;
  const size_t count = data->d_size / sizeof(Elf64_Sym);
  for (size_t i = 1; i < count; ++i) {
    GElf_Sym symbol;
    if (gelf_getsym(data, static_cast<int>(i), &symbol) == nullptr) break;
    const char* name = elf_strptr(elf_, header.sh_link, symbol.st_name);
    const int type = GELF_ST_TYPE(symbol.st_info);
    if (name == nullptr) continue;
    if (type == STT_FILE) file = name;
    const bool is_function = type == STT_FUNC || type == STT_GNU_IFUNC;
    if ((!is_function && type != STT_OBJECT) || symbol.st_shndx == SHN_UNDEF || *name == 0) continue;
    const bool is_local = GELF_ST_BIND(symbol.st_info) == STB_LOCAL;
    symbols_.push_back({symbol.st_value, symbol.st_size, name, is_local ? file : "", is_function, is_local});
  }
}

const std::vector<FunctionRange>& ElfFile::fde_ranges() {
  if (!fdes_read_) {
    fdes_read_ = true;
    if (const auto section = FindSection(".eh_frame")) fdes_ = ReadFdeRanges(section->bytes, section->address);
  }
  return fdes_;
}

std::optional<FunctionRange> ElfFile::FunctionAt(uint64_t address) {
  const std::vector<ElfSymbol>& all = symbols();
  auto after = std::upper_bound(all.begin(), all.end(), address,
                                [](uint64_t value, const ElfSymbol& symbol) { return value < symbol.address; });
  // Nested symbols and symbols of size 0 may stand between the function's own symbol and the address.
  for (int steps = 0; after != all.begin() && steps < 64; ++steps) {
    const ElfSymbol& symbol = *--after;
    if (!symbol.is_function || symbol.size == 0 || address - symbol.address >= symbol.size) continue;
    FunctionRange range{symbol.address, symbol.size, {}};
    const auto first = std::lower_bound(all.begin(), all.end(), symbol.address,
                                        [](const ElfSymbol& s, uint64_t value) { return s.address < value; });
    for (auto it = first; it != all.end() && it->address == symbol.address; ++it)
      if (it->is_function) range.names.push_back(it->name);
    return range;
  }
  const std::vector<FunctionRange>& fdes = fde_ranges();
  auto fde = std::upper_bound(fdes.begin(), fdes.end(), address,
                              [](uint64_t value, const FunctionRange& range) { return value < range.start; });
  if (fde == fdes.begin()) return std::nullopt;
  --fde;
  if (address - fde->start >= fde->size) return std::nullopt;
  return *fde;
}

const ElfSymbol* ElfFile::SymbolNamed(std::string_view name) {
  for (const ElfSymbol& symbol : symbols())
    if (symbol.name == name) return &symbol;
  return nullptr;
}

const ElfSymbol* ElfFile::ObjectAt(uint64_t address) {
  const std::vector<ElfSymbol>& all = symbols();
  auto after = std::upper_bound(all.begin(), all.end(), address,
                                [](uint64_t value, const ElfSymbol& symbol) { return value < symbol.address; });
  for (int steps = 0; after != all.begin() && steps < 16; ++steps) {
    const ElfSymbol& symbol = *--after;
    if (!symbol.is_function && address - symbol.address < symbol.size) return &symbol;
  }
  return nullptr;
}

Dwarf* ElfFile::dwarf() {
  if (!dwarf_tried_) {
    dwarf_tried_ = true;
    if (has_dwarf_ || FindSection(".debug_frame")) dwarf_ = dwarf_begin_elf(elf_, DWARF_C_READ, nullptr);
  }
  return dwarf_;
}

Dwarf_CFI* ElfFile::eh_frame() {
  if (!eh_frame_tried_) {
    eh_frame_tried_ = true;
    if (has_code_) eh_frame_ = dwarf_getcfi_elf(elf_);
  }
  return eh_frame_;
}

// The Dwarf handle owns this table, unlike that of .eh_frame.
Dwarf_CFI* ElfFile::debug_frame() { return dwarf() == nullptr ? nullptr : dwarf_getcfi(dwarf_); }

}  // namespace recrash
