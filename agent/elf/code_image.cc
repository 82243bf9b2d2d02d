#include "agent/elf/code_image.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "agent/base/fd.h"
#include "shadowstack/abi.h"
#include "shadowstack/frame_table.h"

namespace recrash {

Result<CodeImage> CodeImage::Open(const std::string& path) {
  const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status;
  if (!file || fstat(file.get(), &status) != 0)
    return Error{Errc::kMissing, path + ": cannot be read: " + std::strerror(errno)};
  const auto size = static_cast<uint64_t>(status.st_size);
  void* bytes =
      S_ISREG(status.st_mode) && size > 0 ? mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0) : MAP_FAILED;
  if (bytes == MAP_FAILED) return Error{Errc::kRefused, path + ": cannot be mapped"};
  CodeImage image;
  image.bytes_ = static_cast<const uint8_t*>(bytes);
  image.size_ = size;
  if (!image.ReadHeaders()) return Error{Errc::kDamaged, path + ": not an ELF file that can be loaded"};
  return image;
}

CodeImage::CodeImage(CodeImage&& other) noexcept
    : bytes_(std::exchange(other.bytes_, nullptr)),
      size_(other.size_),
      segments_(std::move(other.segments_)),
      frame_table_(other.frame_table_),
      frame_table_size_(other.frame_table_size_) {}

CodeImage::~CodeImage() {
  if (bytes_ != nullptr) munmap(const_cast<uint8_t*>(bytes_), size_);
}

std::span<const uint8_t> CodeImage::FileBytes(uint64_t offset, uint64_t size) const {
  if (offset > size_ || size > size_ - offset) return {};
  return {bytes_ + offset, size};
}

template <typename T>
std::optional<T> CodeImage::Read(uint64_t offset) const {
  const std::span<const uint8_t> bytes = FileBytes(offset, sizeof(T));
  if (bytes.empty()) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

bool CodeImage::ReadHeaders() {
  const auto header = Read<Elf64_Ehdr>(0);
  if (!header || std::memcmp(header->e_ident, ELFMAG "\2\1", SELFMAG + 2) != 0) return false;
  for (unsigned i = 0; i < header->e_phnum; ++i) {
    const auto segment = Read<Elf64_Phdr>(header->e_phoff + uint64_t{i} * sizeof(Elf64_Phdr));
    if (!segment) return false;
    if (segment->p_type == PT_LOAD)
      segments_.push_back({segment->p_vaddr, segment->p_offset, segment->p_filesz, (segment->p_flags & PF_X) != 0});
    if (segment->p_type == PT_GNU_EH_FRAME) {
      frame_table_ = segment->p_vaddr;
      frame_table_size_ = segment->p_filesz;
    }
  }
  return true;
}

std::span<const uint8_t> CodeImage::Bytes(uint64_t address, size_t size) const {
  for (const Segment& segment : segments_) {
    if (address < segment.address || address - segment.address >= segment.size) continue;
    const uint64_t skip = address - segment.address;
    return FileBytes(segment.offset + skip, std::min<uint64_t>(size, segment.size - skip));
  }
  return {};
}

std::optional<uint64_t> CodeImage::FunctionStart(uint64_t address) const {
  const std::span<const uint8_t> table = Bytes(frame_table_, frame_table_size_);
  for (const Segment& segment : segments_) {
    if (!segment.executable || address < segment.address || address - segment.address >= segment.size) continue;
    const abi::CodeRange range =
        abi::FrameTable(table.data(), table.size(), frame_table_).Find(address, segment.address + segment.size);
    if (range.end != 0) return range.start;
  }
  return std::nullopt;
}

bool CodeImage::IsPatchable(uint64_t start) const {
  const std::span<const uint8_t> prefix = Bytes(start - abi::kEntryPrefixSize, sizeof abi::kEntryPrefix);
  return std::ranges::equal(prefix, abi::kEntryPrefix);
}

// call rel32; or an indirect one, two to seven bytes long: ff /2.
bool CodeImage::IsReturnAddress(uint64_t address) const {
  const std::span<const uint8_t> before = Bytes(address - 7, 7);
  if (before.size() < 7) return false;
  if (before[2] == 0xe8) return true;
  for (const size_t at : {0, 1, 3, 4, 5})
    if (before[at] == 0xff && (before[at + 1] >> 3 & 7) == 2) return true;
  return false;
}

void CodeImage::NamesIn(uint32_t table_type, const std::set<uint64_t>& starts,
                        std::map<uint64_t, std::string>* names) const {
  const auto header = Read<Elf64_Ehdr>(0);
  for (unsigned i = 0; i < header->e_shnum; ++i) {
    const auto table = Read<Elf64_Shdr>(header->e_shoff + uint64_t{i} * sizeof(Elf64_Shdr));
    if (!table || table->sh_type != table_type) continue;
    const auto strings = Read<Elf64_Shdr>(header->e_shoff + uint64_t{table->sh_link} * sizeof(Elf64_Shdr));
    if (!strings) continue;
    const std::span<const uint8_t> text = FileBytes(strings->sh_offset, strings->sh_size);
    for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= table->sh_size; at += sizeof(Elf64_Sym)) {
      const auto symbol = Read<Elf64_Sym>(table->sh_offset + at);
      if (!symbol) break;
      if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_name >= text.size() ||
          !starts.contains(symbol->st_value))
        continue;
      const char* name = reinterpret_cast<const char*>(text.data()) + symbol->st_name;
      names->emplace(symbol->st_value, std::string(name, strnlen(name, text.size() - symbol->st_name)));
    }
  }
}

std::map<uint64_t, std::string> CodeImage::FunctionNames(const std::set<uint64_t>& starts) const {
  std::map<uint64_t, std::string> names;
  NamesIn(SHT_SYMTAB, starts, &names);
  NamesIn(SHT_DYNSYM, starts, &names);
  return names;
}

}  // namespace recrash
