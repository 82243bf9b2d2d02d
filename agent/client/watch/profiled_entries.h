// Finds the entries that a profile names in the modules of this process, or all, sorted by address.
#ifndef RECRASH_AGENT_CLIENT_WATCH_PROFILED_ENTRIES_H_
#define RECRASH_AGENT_CLIENT_WATCH_PROFILED_ENTRIES_H_

#include <stddef.h>
#include <stdint.h>

#include "agent/client/watch/loaded_modules.h"
#include "agent/client/watch/patcher.h"

namespace recrash::watch {

// Zeroed pages from the kernel; unmapped by the destructor.
class Pages {
 public:
  Pages() = default;
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages();

  bool Allocate(size_t size);
  // Maps a regular file of `most` bytes at most. `exists` tells a missing file from one that cannot be mapped.
  bool MapFile(const char* path, size_t most, bool* exists);
  void* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  void* data_ = nullptr;
  size_t size_ = 0;
};

class ProfiledEntries {
 public:
  ProfiledEntries() = default;
  ~ProfiledEntries();

  ProfileRead Read(const char* profile, PatchCounts* counts);
  // Finds all entries that can be patched.
  bool FindAll(PatchCounts* counts);
  bool ListLoaded();

  size_t count() const { return count_; }
  const uint64_t* addresses() const { return addresses_; }
  LoadedModule* ModuleOf(size_t index) { return ModuleAt(addresses_[index]); }
  // Returns null if no module has code there.
  LoadedModule* ModuleAt(uint64_t address);

 private:
  struct Name {
    uint64_t hash;  // 0: free
    bool found;
  };

  static size_t Patchable(const LoadedModule& module, uint64_t* entries);
  void ReadLines(const char* begin, const char* end, PatchCounts* counts);
  void TakeLine(const signal_safe::ProfileLine& line, PatchCounts* counts);
  Name* FindName(uint64_t hash);
  void FindByName(PatchCounts* counts);
  static void TakeSymbol(uint64_t address, uint64_t hash, void* self);
  void Add(uint64_t address);
  void SortAndUnite();

  Pages module_pages_;
  Pages address_pages_;
  Pages name_pages_;
  LoadedModule* modules_ = nullptr;
  size_t module_count_ = 0;
  uint64_t* addresses_ = nullptr;
  size_t count_ = 0;
  size_t room_ = 0;
  Name* names_ = nullptr;
  size_t name_slots_ = 0;  // a power of two, twice the lines
  size_t name_count_ = 0;
  const LoadedModule* scanned_ = nullptr;
};

}  // namespace recrash::watch

#endif  // RECRASH_AGENT_CLIENT_WATCH_PROFILED_ENTRIES_H_
