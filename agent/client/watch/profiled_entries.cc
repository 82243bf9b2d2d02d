#include "agent/client/watch/profiled_entries.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>

#include "shadowstack/abi.h"

namespace recrash::watch {

using abi::FrameTable;
using signal_safe::kMostProfileBytes;
using signal_safe::LineKind;
using signal_safe::NextProfileLine;
using signal_safe::ProfileLine;

namespace {

// The functions that an ELF file defines.
class ElfSymbols {
 public:
  explicit ElfSymbols(const Pages<const uint8_t>& file) : bytes_(file.begin()), size_(file.size()) {}

  // Calls visit(address in the file, abi::HashLinkageName of the name) for each in .symtab, or else in .dynsym. Returns
  // false if they are not all: .dynsym has only exported ones.
  template <typename Visit>
  bool ForEach(Visit visit) const {
    if (!Holds(0, sizeof(Elf64_Ehdr)) || memcmp(bytes_, ELFMAG "\2\1", SELFMAG + 2) != 0) return false;
    const auto* header = At<Elf64_Ehdr>(0);
    if (header->e_shentsize != sizeof(Elf64_Shdr) || header->e_shoff % alignof(Elf64_Shdr) != 0 ||
        !Holds(header->e_shoff, uint64_t{header->e_shnum} * sizeof(Elf64_Shdr)))
      return false;
    const auto* sections = At<Elf64_Shdr>(header->e_shoff);
    for (const uint32_t type : {SHT_SYMTAB, SHT_DYNSYM})
      for (unsigned i = 0; i < header->e_shnum; ++i)
        if (sections[i].sh_type == type && sections[i].sh_link < header->e_shnum &&
            VisitTable(sections[i], sections[sections[i].sh_link], visit))
          return type == SHT_SYMTAB;
    return false;
  }

 private:
  bool Holds(uint64_t offset, uint64_t size) const { return offset <= size_ && size <= size_ - offset; }

  template <typename T>
  const T* At(uint64_t offset) const {
    return reinterpret_cast<const T*>(bytes_ + offset);
  }

  template <typename Visit>
  bool VisitTable(const Elf64_Shdr& table, const Elf64_Shdr& names, Visit visit) const {
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
      visit(symbol.st_value, abi::HashLinkageName(name, strnlen(name, names.sh_size - symbol.st_name)));
    }
    return true;
  }

  const uint8_t* bytes_;
  uint64_t size_;
};

}  // namespace

ProfiledEntries::~ProfiledEntries() {
  for (size_t i = 0; i < module_count_; ++i) CloseFile(&modules_[i]);
}

bool ProfiledEntries::ListLoaded() {
  if (!modules_.Allocate(kMostModules)) return false;
  module_count_ = ListModules(modules_.begin(), kMostModules);
  return true;
}

LoadedModule* ProfiledEntries::ModuleAt(uint64_t address) {
  for (size_t i = 0; i < module_count_; ++i)
    if (modules_[i].SegmentOf(address, 1) != nullptr) return &modules_[i];
  return nullptr;
}

ProfileRead ProfiledEntries::Read(const char* profile, PatchCounts* counts) {
  // O_NONBLOCK: a fifo of that name must not stop the program.
  const int file = open(profile, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return errno == ENOENT || errno == ENOTDIR ? ProfileRead::kNone : ProfileRead::kUnreadable;
  Pages<const char> text;
  const bool mapped = text.MapFile(file, kMostProfileBytes);
  close(file);
  const size_t lines = mapped ? 1 + static_cast<size_t>(std::count(text.begin(), text.end(), '\n')) : 0;
  size_t name_slots = 64;
  while (name_slots < 2 * lines) name_slots *= 2;
  // Of one name there may be several functions.
  if (!mapped || !ListLoaded() || !addresses_.Allocate(4 * lines + 64) || !names_.Allocate(name_slots))
    return ProfileRead::kUnreadable;
  ProfileLine line;
  for (const char* at = text.begin(); at < text.end();) {
    const LineKind kind = NextProfileLine(at, text.end(), &line);
    if (kind == LineKind::kDamaged) ++counts->damaged;
    if (kind == LineKind::kFunction) TakeLine(line, counts);
  }
  if (name_count_ != 0) FindByName(counts);
  SortAndUnite();
  return ProfileRead::kRead;
}

// Puts the patchable entries into `entries` and returns their count. The unwinders' table says where functions begin,
// the prefix before each whether it is patchable: 10 ns a function, and its page is read.
size_t ProfiledEntries::Patchable(const LoadedModule& module, uint64_t* entries) {
  const FrameTable functions = module.functions();
  size_t count = 0;
  for (size_t i = 0; i < functions.count(); ++i) {
    const uint64_t prefix = functions.Start(i) - abi::kEntryPrefixSize;
    if (module.SegmentOf(prefix, abi::kEntryPrefixSize + 2) == nullptr) continue;
    if (memcmp(reinterpret_cast<const void*>(prefix), abi::kEntryPrefix, sizeof abi::kEntryPrefix) != 0) continue;
    entries[count++] = functions.Start(i);
  }
  return count;
}

bool ProfiledEntries::FindAll(PatchCounts* counts) {
  if (!ListLoaded()) return false;
  size_t functions = 0;
  for (size_t i = 0; i < module_count_; ++i)
    if (modules_[i].instrumented) functions += modules_[i].functions().count();
  if (functions == 0 || !addresses_.Allocate(functions)) return false;
  for (size_t i = 0; i < module_count_; ++i)
    if (modules_[i].instrumented) count_ += Patchable(modules_[i], addresses_.begin() + count_);
  SortAndUnite();
  counts->wanted = static_cast<uint32_t>(count_);
  return count_ != 0;
}

// Finds the entry by offset in the build that the line is of, by name in others.
void ProfiledEntries::TakeLine(const ProfileLine& line, PatchCounts* counts) {
  ++counts->wanted;
  for (size_t i = 0; line.offset && i < module_count_; ++i) {
    if (!modules_[i].HasBuildId(line.build_id)) continue;
    const uint64_t address = modules_[i].bias + *line.offset;
    if (modules_[i].SegmentOf(address, 1) == nullptr)
      ++counts->refused[static_cast<size_t>(Refusal::kNoEntry)];
    else
      Add(address);
    return;
  }
  if (line.name.empty()) {
    ++counts->missing;
    return;
  }
  const uint64_t hash = abi::HashLinkageName(line.name.data(), line.name.size());
  Name* name = FindName(hash);
  if (name->hash == 0) ++name_count_;
  name->hash = hash;
}

// Returns the name's slot, or the free one for it. There are twice as many slots as lines, so one is always free.
ProfiledEntries::Name* ProfiledEntries::FindName(uint64_t hash) {
  const size_t mask = names_.size() - 1;
  size_t slot = hash & mask;
  while (names_[slot].hash != 0 && names_[slot].hash != hash) slot = (slot + 1) & mask;
  return &names_[slot];
}

void ProfiledEntries::FindByName(PatchCounts* counts) {
  bool whole = true;
  for (size_t i = 0; i < module_count_; ++i) {
    LoadedModule& module = modules_[i];
    if (!module.instrumented) continue;
    Pages<const uint8_t> file;
    const bool all =
        OpenFile(&module) && file.MapFile(module.code[0].file, SIZE_MAX) &&
        ElfSymbols(file).ForEach([&](uint64_t address, uint64_t hash) { TakeSymbol(module, address, hash); });
    whole = whole && all;
  }
  for (const Name& name : names_)
    if (name.hash != 0 && !name.found) ++(whole ? counts->missing : counts->without_symbols);
}

void ProfiledEntries::TakeSymbol(const LoadedModule& module, uint64_t address, uint64_t hash) {
  Name* name = FindName(hash);
  if (name->hash == 0) return;
  name->found = true;
  if (module.SegmentOf(module.bias + address, 1) != nullptr) Add(module.bias + address);
}

void ProfiledEntries::Add(uint64_t address) {
  if (count_ < addresses_.size()) addresses_[count_++] = address;
}

void ProfiledEntries::SortAndUnite() {
  uint64_t* const begin = addresses_.begin();
  std::sort(begin, begin + count_);
  count_ = static_cast<size_t>(std::unique(begin, begin + count_) - begin);
}

}  // namespace recrash::watch
