#include "agent/elf/elf_notes.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>
#include <string_view>

#include "agent/base/fd.h"
#include "agent/base/text.h"
#include "shadowstack/abi.h"

namespace recrash {
namespace {

constexpr uint64_t kUserSpaceEnd = uint64_t{1} << 47;
constexpr uint64_t kMaxText = 1 << 20;  // bytes of one PT_NOTE or PT_INTERP; real ones have a few hundred

// Copies `size` bytes at `offset` of the file; false when it has fewer.
using Source = std::function<bool(uint64_t offset, void* out, size_t size)>;

Error NotElf(const std::string& name, const std::string& why) {
  return Error{Errc::kDamaged, name + ": not an ELF file that can be loaded: " + why};
}

constexpr char kGnu[] = "GNU";  // owners are compared with their NUL

void TakeNote(const std::string_view owner, uint32_t type, std::string_view text, ElfFacts* facts) {
  if (owner == std::string_view(kGnu, sizeof kGnu) && type == NT_GNU_BUILD_ID && facts->build_id.empty()) {
    facts->build_id = Hex({reinterpret_cast<const uint8_t*>(text.data()), std::min<size_t>(text.size(), 64)});
  }
  if (owner == std::string_view(abi::kNoteOwner, sizeof abi::kNoteOwner) && type == abi::kNoteBuild) {
    constexpr std::string_view kMode = "mode=", kVersion = ";version=";
    const size_t version = text.find(kVersion);
    if (!text.starts_with(kMode) || version == text.npos) return;
    // Padding, if the emitter counted it in.
    while (text.ends_with('\0')) text.remove_suffix(1);
    facts->notes.push_back({std::string(text.substr(kMode.size(), version - kMode.size())),
                            std::string(text.substr(std::min(text.size(), version + kVersion.size())))});
  }
}

std::optional<std::string> CheckHeader(const Elf64_Ehdr& header) {
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return "it does not begin as one";
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
    return "not 64-bit little-endian";
  if (header.e_machine != EM_X86_64) return "not for x86-64 (e_machine " + std::to_string(header.e_machine) + ")";
  if (header.e_type != ET_EXEC && header.e_type != ET_DYN)
    return "neither program nor library (e_type " + std::to_string(header.e_type) + ")";
  if (header.e_phentsize != sizeof(Elf64_Phdr))
    return "program headers of " + std::to_string(header.e_phentsize) + " bytes";
  if (header.e_phnum == PN_XNUM) return "more program headers than its header can count";
  return std::nullopt;
}

void TakeSegment(const Source& source, const Elf64_Phdr& segment, ElfFacts* facts) {
  if (segment.p_type == PT_TLS) facts->tls_size = segment.p_memsz;
  if (segment.p_type == PT_GNU_EH_FRAME) {
    facts->frame_table = segment.p_vaddr;
    facts->frame_table_size = segment.p_filesz;
  }
  if ((segment.p_type != PT_NOTE && segment.p_type != PT_INTERP) || segment.p_filesz > kMaxText) return;
  std::vector<uint8_t> bytes(segment.p_filesz);
  if (!source(segment.p_offset, bytes.data(), bytes.size())) return;
  if (segment.p_type == PT_NOTE)
    ReadNotes(bytes, segment.p_align, facts);
  else
    facts->interpreter.assign(bytes.begin(), std::ranges::find(bytes, 0));
}

Result<ElfFacts> Parse(const Source& source, const std::string& name) {
  Elf64_Ehdr header;
  if (!source(0, &header, sizeof header)) return NotElf(name, "shorter than an ELF header");
  if (auto problem = CheckHeader(header)) return NotElf(name, *problem);
  std::vector<Elf64_Phdr> segments(header.e_phnum);  // at most 65,534
  if (!source(header.e_phoff, segments.data(), segments.size() * sizeof(Elf64_Phdr)))
    return NotElf(name, "its program headers lie beyond its end");

  ElfFacts facts;
  facts.is_movable = header.e_type == ET_DYN;
  uint64_t end = 0;
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_LOAD || segment.p_memsz == 0) continue;
    if (segment.p_vaddr < end || segment.p_vaddr >= kUserSpaceEnd || segment.p_memsz > kUserSpaceEnd - segment.p_vaddr)
      return NotElf(name, "its segments overlap or leave the address space");
    end = segment.p_vaddr + segment.p_memsz;
    facts.loads.push_back({segment.p_offset, segment.p_vaddr, segment.p_filesz, segment.p_memsz,
                           (segment.p_flags & PF_X) != 0, (segment.p_flags & PF_W) != 0});
  }
  if (facts.loads.empty()) return NotElf(name, "nothing in it is loaded");
  for (const Elf64_Phdr& segment : segments) TakeSegment(source, segment, &facts);
  return facts;
}

}  // namespace

void ReadNotes(std::span<const uint8_t> notes, uint64_t alignment, ElfFacts* facts) {
  std::string_view bytes(reinterpret_cast<const char*>(notes.data()), notes.size());
  const uint64_t align = alignment == 8 ? 8 : 4;
  const auto padded = [align](uint64_t size) { return (size + align - 1) & ~(align - 1); };
  Elf64_Nhdr header;
  while (bytes.size() >= sizeof header) {
    std::memcpy(&header, bytes.data(), sizeof header);
    bytes.remove_prefix(sizeof header);
    const uint64_t owner = padded(sizeof header + uint64_t{header.n_namesz}) - sizeof header;
    if (owner > bytes.size() || header.n_descsz > bytes.size() - owner) return;
    TakeNote(bytes.substr(0, header.n_namesz), header.n_type, bytes.substr(owner, header.n_descsz), facts);
    bytes.remove_prefix(std::min<uint64_t>(bytes.size(), owner + padded(header.n_descsz)));
  }
}

Result<ElfFacts> ReadElf(const std::string& path) {
  const auto unreadable = [&] {
    return Error{errno == ENOENT ? Errc::kMissing : Errc::kRefused, path + ": " + std::strerror(errno)};
  };
  // Asked before it is opened: opening a device may do something.
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return unreadable();
  if (!S_ISREG(status.st_mode)) return NotElf(path, "not a regular file");
  Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return unreadable();
  const uint64_t file_size = static_cast<uint64_t>(status.st_size);
  return Parse(
      [&](uint64_t offset, void* out, size_t size) {
        if (offset > file_size || size > file_size - offset) return false;
        return pread(fd.get(), out, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
      },
      path);
}

Result<ElfFacts> ParseElfHead(std::span<const uint8_t> bytes, const std::string& name) {
  return Parse(
      [&](uint64_t offset, void* out, size_t size) {
        if (offset > bytes.size() || size > bytes.size() - offset) return false;
        if (size > 0) std::memcpy(out, bytes.data() + offset, size);
        return true;
      },
      name);
}

Result<std::string> ReadBuildId(const std::string& path) {
  Result<ElfFacts> facts = ReadElf(path);
  if (!facts) return facts.error();
  return facts->build_id;
}

}  // namespace recrash
