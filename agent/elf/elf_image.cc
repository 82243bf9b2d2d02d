#include "agent/elf/elf_image.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>

#include "shadowstack/abi.h"
#include "shadowstack/frame_table.h"

namespace recrash {

namespace {

// The text at `offset` of a string table, up to its NUL; empty if that lies beyond the table's end.
std::string_view TextAt(std::span<const uint8_t> strings, uint64_t offset) {
  if (offset >= strings.size()) return {};
  const auto* text = reinterpret_cast<const char*>(strings.data()) + offset;
  return {text, strnlen(text, strings.size() - offset)};
}

}  // namespace

Result<ElfImage> ElfImage::Open(const std::string& path) {
  ElfImage image;
  image.file_ = Fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status;
  if (!image.file_ || fstat(image.descriptor(), &status) != 0)
    return Error{Errc::kMissing, path + ": cannot be read: " + std::strerror(errno)};
  const auto size = static_cast<uint64_t>(status.st_size);
  void* bytes = S_ISREG(status.st_mode) && size > 0 ? mmap(nullptr, size, PROT_READ, MAP_PRIVATE, image.descriptor(), 0)
                                                    : MAP_FAILED;
  if (bytes == MAP_FAILED) return Error{Errc::kRefused, path + ": cannot be mapped"};
  image.mapped_ = {static_cast<const uint8_t*>(bytes), Unmap{size}};
  Result<ElfFacts> facts = ParseElfHead({image.mapped_.get(), size}, path);
  if (!facts) return facts.error();
  image.facts_ = *std::move(facts);
  image.ReadSections();
  return image;
}

std::span<const uint8_t> ElfImage::FileBytes(uint64_t offset, uint64_t size) const {
  const uint64_t end = mapped_.get_deleter().size;
  if (offset > end || size > end - offset) return {};
  return {mapped_.get() + offset, size};
}

template <typename T>
std::optional<T> ElfImage::Read(uint64_t offset) const {
  const std::span<const uint8_t> bytes = FileBytes(offset, sizeof(T));
  if (bytes.empty()) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

void ElfImage::ReadSections() {
  const auto header = Read<Elf64_Ehdr>(0);
  const auto first = Read<Elf64_Shdr>(header->e_shoff);
  if (header->e_shoff == 0 || header->e_shentsize != sizeof(Elf64_Shdr) || !first) return;
  // If the file has more sections than its header can count, the first section says how many.
  const uint64_t count = header->e_shnum != 0 ? header->e_shnum : first->sh_size;
  const uint64_t of_names = header->e_shstrndx != SHN_XINDEX ? header->e_shstrndx : first->sh_link;
  const auto names = Read<Elf64_Shdr>(header->e_shoff + of_names * sizeof(Elf64_Shdr));
  const std::span<const uint8_t> text =
      names ? FileBytes(names->sh_offset, names->sh_size) : std::span<const uint8_t>();
  ElfFacts noted;
  for (uint64_t i = 0; i < count; ++i) {
    const auto section = Read<Elf64_Shdr>(header->e_shoff + i * sizeof(Elf64_Shdr));
    if (!section) break;
    ElfSection read{TextAt(text, section->sh_name),
                    section->sh_type,
                    section->sh_link,
                    (section->sh_flags & SHF_EXECINSTR) != 0,
                    {}};
    if (section->sh_type != SHT_NOBITS) read.bytes = FileBytes(section->sh_offset, section->sh_size);
    if (section->sh_type == SHT_NOTE) ReadNotes(read.bytes, section->sh_addralign, &noted);
    sections_.push_back(read);
  }
  if (!noted.build_id.empty()) facts_.build_id = noted.build_id;
}

const ElfSection* ElfImage::FindSection(std::string_view name) const {
  const auto found = std::ranges::find_if(
      sections_, [name](const ElfSection& section) { return section.name == name && !section.bytes.empty(); });
  return found == sections_.end() ? nullptr : &*found;
}

bool ElfImage::has_symtab() const {
  return std::ranges::find(sections_, uint32_t{SHT_SYMTAB}, &ElfSection::type) != sections_.end();
}

bool ElfImage::has_code() const {
  return std::ranges::any_of(sections_, [](const ElfSection& section) {
    return section.executable && section.type == SHT_PROGBITS && !section.bytes.empty();
  });
}

const ElfLoad* ElfImage::LoadAt(uint64_t address) const {
  const auto found = std::ranges::find_if(facts_.loads, [address](const ElfLoad& load) {
    return address >= load.vaddr && address - load.vaddr < load.memory_size;
  });
  return found == facts_.loads.end() ? nullptr : &*found;
}

std::span<const uint8_t> ElfImage::Bytes(uint64_t address, size_t size) const {
  const ElfLoad* load = LoadAt(address);
  const uint64_t skip = load == nullptr ? 0 : address - load->vaddr;
  if (load == nullptr || skip >= load->file_size) return {};
  return FileBytes(load->offset + skip, std::min<uint64_t>(size, load->file_size - skip));
}

std::optional<uint64_t> ElfImage::FunctionStart(uint64_t address) const {
  const ElfLoad* load = LoadAt(address);
  if (load == nullptr || !load->executable) return std::nullopt;
  const std::span<const uint8_t> table = Bytes(facts_.frame_table, facts_.frame_table_size);
  const abi::CodeRange range =
      abi::FrameTable(table.data(), table.size(), facts_.frame_table).Find(address, load->vaddr + load->file_size);
  return range.end == 0 ? std::nullopt : std::optional(range.start);
}

std::optional<uint64_t> ElfImage::FrameDescription(uint64_t address) const {
  if (!FunctionStart(address)) return std::nullopt;
  const std::span<const uint8_t> bytes = Bytes(facts_.frame_table, facts_.frame_table_size);
  const abi::FrameTable table(bytes.data(), bytes.size(), facts_.frame_table);
  return table.Description(table.CountUpTo(address) - 1);
}

std::map<uint64_t, ElfRelocation> ElfImage::Relocations() const {
  std::map<uint64_t, ElfRelocation> relocations;
  for (const ElfSection& section : sections_) {
    if (section.type != SHT_RELA || section.link >= sections_.size()) continue;
    const ElfSection& symbols = sections_[section.link];
    if (symbols.type != SHT_DYNSYM || symbols.link >= sections_.size()) continue;
    const std::span<const uint8_t> names = sections_[symbols.link].bytes;
    for (std::span<const uint8_t> left = section.bytes; left.size() >= sizeof(Elf64_Rela);
         left = left.subspan(sizeof(Elf64_Rela))) {
      Elf64_Rela entry;
      std::memcpy(&entry, left.data(), sizeof entry);
      const uint64_t index = ELF64_R_SYM(entry.r_info);
      Elf64_Sym symbol{};
      if (index < symbols.bytes.size() / sizeof symbol)
        std::memcpy(&symbol, symbols.bytes.data() + index * sizeof symbol, sizeof symbol);
      relocations[entry.r_offset] = {index ? TextAt(names, symbol.st_name) : "", entry.r_addend};
    }
  }
  return relocations;
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

void ElfImage::VisitSymbols(const std::function<void(const ElfSymbol&)>& visit) const {
  const uint32_t wanted = has_symtab() ? SHT_SYMTAB : SHT_DYNSYM;
  for (const ElfSection& table : sections_) {
    if (table.type != wanted || table.link >= sections_.size()) continue;
    std::string_view file;
    for (std::span<const uint8_t> left = table.bytes; left.size() >= sizeof(Elf64_Sym);
         left = left.subspan(sizeof(Elf64_Sym))) {
      Elf64_Sym symbol;
      std::memcpy(&symbol, left.data(), sizeof symbol);
      const std::string_view name = TextAt(sections_[table.link].bytes, symbol.st_name);
      const int type = ELF64_ST_TYPE(symbol.st_info);
      if (type == STT_FILE) file = name;
      const bool is_function = type == STT_FUNC || type == STT_GNU_IFUNC;
      if ((!is_function && type != STT_OBJECT && type != STT_TLS) || symbol.st_shndx == SHN_UNDEF || name.empty())
        continue;
      const bool is_local = ELF64_ST_BIND(symbol.st_info) == STB_LOCAL;
      visit({symbol.st_value, symbol.st_size, name, is_local ? file : "", is_function, is_local, type == STT_TLS});
    }
  }
}

std::map<uint64_t, std::string> ElfImage::FunctionNames(const std::set<uint64_t>& starts) const {
  std::map<uint64_t, std::string> names;
  VisitSymbols([&](const ElfSymbol& symbol) {
    if (symbol.is_function && starts.contains(symbol.address)) names.emplace(symbol.address, symbol.name);
  });
  return names;
}

}  // namespace recrash
