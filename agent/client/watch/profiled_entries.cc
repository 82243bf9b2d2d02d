#include "agent/client/watch/profiled_entries.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/client/watch/symbol_scan.h"
#include "shadowstack/abi.h"

namespace recrash::watch {

using abi::FrameTable;
using signal_safe::kMostProfileBytes;
using signal_safe::LineKind;
using signal_safe::NextProfileLine;
using signal_safe::ProfileLine;

Pages::~Pages() {
  if (data_ != nullptr) munmap(data_, size_);
}

bool Pages::Allocate(size_t size) {
  void* got = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (got == MAP_FAILED) return false;
  data_ = got;
  size_ = size;
  return true;
}

bool Pages::MapFile(const char* path, size_t most, bool* exists) {
  // O_NONBLOCK: a fifo of that name must not stop the program.
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  *exists = file >= 0 || (errno != ENOENT && errno != ENOTDIR);
  if (file < 0) return false;
  struct stat status;
  const bool usable = fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0 &&
                      static_cast<uint64_t>(status.st_size) <= most;
  void* got = MAP_FAILED;
  if (usable) got = mmap(nullptr, static_cast<size_t>(status.st_size), PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  if (got == MAP_FAILED) return false;
  data_ = got;
  size_ = static_cast<size_t>(status.st_size);
  return true;
}

ProfiledEntries::~ProfiledEntries() {
  for (size_t i = 0; i < module_count_; ++i) CloseFile(&modules_[i]);
}

bool ProfiledEntries::ListLoaded() {
  if (!module_pages_.Allocate(kMostModules * sizeof(LoadedModule))) return false;
  modules_ = static_cast<LoadedModule*>(module_pages_.data());
  module_count_ = ListModules(modules_, kMostModules);
  return true;
}

LoadedModule* ProfiledEntries::ModuleAt(uint64_t address) {
  for (size_t i = 0; i < module_count_; ++i)
    if (modules_[i].SegmentOf(address, 1) != nullptr) return &modules_[i];
  return nullptr;
}

ProfileRead ProfiledEntries::Read(const char* profile, PatchCounts* counts) {
  Pages text;
  bool exists = false;
  if (!text.MapFile(profile, kMostProfileBytes, &exists)) return exists ? ProfileRead::kUnreadable : ProfileRead::kNone;
  const char* begin = static_cast<const char*>(text.data());
  const char* end = begin + text.size();
  size_t lines = 1;
  for (const char* at = begin; at < end; ++at) lines += *at == '\n';
  name_slots_ = 64;
  while (name_slots_ < 2 * lines) name_slots_ *= 2;
  room_ = 4 * lines + 64;  // of one name there may be several functions
  if (!ListLoaded() || !address_pages_.Allocate(room_ * sizeof(uint64_t)) ||
      !name_pages_.Allocate(name_slots_ * sizeof(Name)))
    return ProfileRead::kUnreadable;
  addresses_ = static_cast<uint64_t*>(address_pages_.data());
  names_ = static_cast<Name*>(name_pages_.data());
  ReadLines(begin, end, counts);
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
  for (size_t i = 0; i < module_count_; ++i)
    if (modules_[i].instrumented) room_ += modules_[i].functions().count();
  if (room_ == 0 || !address_pages_.Allocate(room_ * sizeof(uint64_t))) return false;
  addresses_ = static_cast<uint64_t*>(address_pages_.data());
  for (size_t i = 0; i < module_count_; ++i)
    if (modules_[i].instrumented) count_ += Patchable(modules_[i], addresses_ + count_);
  SortAndUnite();
  counts->wanted = static_cast<uint32_t>(count_);
  return count_ != 0;
}

void ProfiledEntries::ReadLines(const char* begin, const char* end, PatchCounts* counts) {
  ProfileLine line;
  for (const char* at = begin; at < end;) {
    const LineKind kind = NextProfileLine(at, end, &line);
    if (kind == LineKind::kDamaged) ++counts->damaged;
    if (kind == LineKind::kFunction) TakeLine(line, counts);
  }
}

// Finds the entry by offset in the build that the line is of, by name in others.
void ProfiledEntries::TakeLine(const ProfileLine& line, PatchCounts* counts) {
  ++counts->wanted;
  for (size_t i = 0; line.has_offset && i < module_count_; ++i) {
    if (!modules_[i].HasBuildId(line.build_id)) continue;
    const uint64_t address = modules_[i].bias + line.offset;
    if (modules_[i].SegmentOf(address, 1) == nullptr)
      ++counts->refused[static_cast<size_t>(Refusal::kNoEntry)];
    else
      Add(address);
    return;
  }
  if (!line.name.known()) {
    ++counts->missing;
    return;
  }
  const uint64_t hash = abi::HashLinkageName(line.name.begin, line.name.size);
  Name* name = FindName(hash);
  if (name->hash == 0) ++name_count_;
  name->hash = hash;
}

// Returns the name's slot, or the free one for it. There are twice as many slots as lines, so one is always free.
ProfiledEntries::Name* ProfiledEntries::FindName(uint64_t hash) {
  size_t slot = hash & (name_slots_ - 1);
  while (names_[slot].hash != 0 && names_[slot].hash != hash) slot = (slot + 1) & (name_slots_ - 1);
  return &names_[slot];
}

void ProfiledEntries::FindByName(PatchCounts* counts) {
  bool whole = true;
  for (size_t i = 0; i < module_count_; ++i) {
    if (!modules_[i].instrumented) continue;
    scanned_ = &modules_[i];
    if (!OpenFile(&modules_[i]) || VisitFunctions(modules_[i].code[0].file, TakeSymbol, this) != SymbolTable::kWhole)
      whole = false;
  }
  for (size_t slot = 0; slot < name_slots_; ++slot)
    if (names_[slot].hash != 0 && !names_[slot].found) ++(whole ? counts->missing : counts->without_symbols);
}

void ProfiledEntries::TakeSymbol(uint64_t address, uint64_t hash, void* self) {
  auto& entries = *static_cast<ProfiledEntries*>(self);
  Name* name = entries.FindName(hash);
  if (name->hash == 0) return;
  name->found = true;
  const uint64_t entry = entries.scanned_->bias + address;
  if (entries.scanned_->SegmentOf(entry, 1) != nullptr) entries.Add(entry);
}

void ProfiledEntries::Add(uint64_t address) {
  if (count_ < room_) addresses_[count_++] = address;
}

// Shell's sort: in place, without recursion.
void ProfiledEntries::SortAndUnite() {
  for (size_t gap = count_ / 2; gap != 0; gap = gap == 2 ? 1 : gap * 5 / 11) {
    for (size_t i = gap; i < count_; ++i) {
      const uint64_t value = addresses_[i];
      size_t k = i;
      for (; k >= gap && addresses_[k - gap] > value; k -= gap) addresses_[k] = addresses_[k - gap];
      addresses_[k] = value;
    }
  }
  size_t kept = 0;
  for (size_t i = 0; i < count_; ++i)
    if (kept == 0 || addresses_[kept - 1] != addresses_[i]) addresses_[kept++] = addresses_[i];
  count_ = kept;
}

}  // namespace recrash::watch
