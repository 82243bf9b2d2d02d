#include "testgen/replay/plan/program_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace recrash {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kLargestTable = 1ull << 30;

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  int get() const { return number_; }

 private:
  int number_;
};

bool ReadAt(int descriptor, uint64_t offset, void* out, size_t size) {
  return pread(descriptor, out, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
}

// A table of the file as a vector; empty when it does not lie within the file.
template <typename T>
std::vector<T> ReadTable(int descriptor, uint64_t offset, uint64_t bytes) {
  struct stat status;
  if (fstat(descriptor, &status) != 0 || bytes > kLargestTable) return {};
  const auto file_size = static_cast<uint64_t>(status.st_size);
  if (offset > file_size || bytes > file_size - offset) return {};
  std::vector<T> table(bytes / sizeof(T));
  if (!ReadAt(descriptor, offset, table.data(), table.size() * sizeof(T))) return {};
  return table;
}

bool ReadHeader(int descriptor, Elf64_Ehdr* header) {
  return ReadAt(descriptor, 0, header, sizeof *header) && memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
         header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_machine == EM_X86_64;
}

std::vector<Elf64_Phdr> ReadSegments(int descriptor, const Elf64_Ehdr& header) {
  return ReadTable<Elf64_Phdr>(descriptor, header.e_phoff, uint64_t{header.e_phnum} * sizeof(Elf64_Phdr));
}

std::string BuildIdIn(const std::vector<char>& notes) {
  size_t at = 0;
  while (at + sizeof(Elf64_Nhdr) <= notes.size()) {
    Elf64_Nhdr note;
    memcpy(&note, notes.data() + at, sizeof note);
    const size_t name = at + sizeof note;
    const size_t content = name + ((uint64_t{note.n_namesz} + 3) & ~3ull);
    const size_t next = content + ((uint64_t{note.n_descsz} + 3) & ~3ull);
    if (content > notes.size() || content + note.n_descsz > notes.size()) break;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(notes.data() + name, "GNU", 4) == 0) {
      std::string hex;
      for (size_t i = 0; i < note.n_descsz; ++i) {
        const auto byte = static_cast<uint8_t>(notes[content + i]);
        hex += "0123456789abcdef"[byte >> 4];
        hex += "0123456789abcdef"[byte & 15];
      }
      return hex;
    }
    at = next;
  }
  return "";
}

std::string TextAt(const std::vector<char>& table, uint64_t offset) {
  if (offset >= table.size()) return "";
  return std::string(table.data() + offset, strnlen(table.data() + offset, table.size() - offset));
}

void ReadSymbols(int descriptor, const Elf64_Ehdr& header, ProgramFile* file) {
  const auto sections =
      ReadTable<Elf64_Shdr>(descriptor, header.e_shoff, uint64_t{header.e_shnum} * sizeof(Elf64_Shdr));
  const Elf64_Shdr* table = nullptr;
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type == SHT_SYMTAB || (section.sh_type == SHT_DYNSYM && !table)) table = &section;
    if (section.sh_type == SHT_SYMTAB) break;
  }
  if (!table || table->sh_link >= sections.size()) return;
  const Elf64_Shdr& strings = sections[table->sh_link];
  const auto names = ReadTable<char>(descriptor, strings.sh_offset, strings.sh_size);
  std::string source;
  for (const Elf64_Sym& symbol : ReadTable<Elf64_Sym>(descriptor, table->sh_offset, table->sh_size)) {
    const int type = ELF64_ST_TYPE(symbol.st_info);
    if (type == STT_FILE) source = TextAt(names, symbol.st_name);
    if (type != STT_FUNC && type != STT_OBJECT && type != STT_GNU_IFUNC) continue;
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_value < file->base_vaddr) continue;
    std::string name = TextAt(names, symbol.st_name);
    if (name.empty()) continue;
    if (ELF64_ST_BIND(symbol.st_info) == STB_LOCAL) name += "@" + source;
    file->symbols.push_back({symbol.st_value - file->base_vaddr, symbol.st_size, type != STT_OBJECT, name});
  }
  std::sort(file->symbols.begin(), file->symbols.end(),
            [](const Symbol& a, const Symbol& b) { return a.offset < b.offset; });
}

}  // namespace

std::string ReadFileBuildId(int descriptor) {
  Elf64_Ehdr header;
  if (!ReadHeader(descriptor, &header)) return "";
  for (const Elf64_Phdr& segment : ReadSegments(descriptor, header)) {
    if (segment.p_type != PT_NOTE) continue;
    const std::string id = BuildIdIn(ReadTable<char>(descriptor, segment.p_offset, segment.p_filesz));
    if (!id.empty()) return id;
  }
  return "";
}

bool IsSameBuild(const Report& report, const Module& module, const ProgramFile& file) {
  if (module.build_id != file.build_id) return false;
  const ModuleImage* image = report.replay ? report.replay->FindImage(module) : nullptr;
  if (!file.build_id.empty() || !image) return true;
  const Descriptor descriptor(open(file.path.c_str(), O_RDONLY | O_CLOEXEC));
  Elf64_Ehdr header;
  if (descriptor.get() < 0 || !ReadHeader(descriptor.get(), &header)) return false;
  for (const Elf64_Phdr& segment : ReadSegments(descriptor.get(), header)) {
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W)) continue;
    const TargetAddress address = module.base + (segment.p_vaddr - file.base_vaddr);
    for (const Region& region : image->read_only) {
      if (region.address != address) continue;
      const auto now = ReadTable<uint8_t>(descriptor.get(), segment.p_offset, segment.p_filesz);
      const size_t common = std::min(now.size(), region.bytes.size());
      if (memcmp(now.data(), region.bytes.data(), common) != 0) return false;
    }
  }
  return true;
}

Result<ProgramFile> ReadProgramFile(const std::string& path, bool with_symbols) {
  const Descriptor descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (descriptor.get() < 0) return Error{Errc::kMissing, path + ": " + strerror(errno)};
  Elf64_Ehdr header;
  if (!ReadHeader(descriptor.get(), &header)) {
    return Error{Errc::kMissing, path + ": not an x86-64 ELF file"};
  }
  ProgramFile file;
  file.path = path;
  file.is_pie = header.e_type == ET_DYN;
  file.build_id = ReadFileBuildId(descriptor.get());
  uint64_t low = UINT64_MAX;
  uint64_t high = 0;
  for (const Elf64_Phdr& segment : ReadSegments(descriptor.get(), header)) {
    if (segment.p_type == PT_INTERP) {
      const auto text = ReadTable<char>(descriptor.get(), segment.p_offset, segment.p_filesz);
      file.interpreter = TextAt(text, 0);
    }
    if (segment.p_type != PT_LOAD) continue;
    low = std::min(low, segment.p_vaddr & ~(kPage - 1));
    high = std::max(high, segment.p_vaddr + segment.p_memsz);
  }
  if (low >= high) return Error{Errc::kMissing, path + ": has no segments to load"};
  file.base_vaddr = low;
  file.size = ((high + kPage - 1) & ~(kPage - 1)) - low;
  if (with_symbols) ReadSymbols(descriptor.get(), header, &file);
  return file;
}

}  // namespace recrash
