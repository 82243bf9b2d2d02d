// Finds the entries that a profile names in the modules of this process, or all, sorted by address.
#ifndef RECRASH_AGENT_CLIENT_WATCH_PROFILED_ENTRIES_H_
#define RECRASH_AGENT_CLIENT_WATCH_PROFILED_ENTRIES_H_

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <type_traits>

#include "agent/base/signal_safe/profile_line.h"
#include "agent/client/watch/loaded_modules.h"
#include "agent/client/watch/patcher.h"

namespace recrash::watch {

// An array in memory from the kernel, which the destructor unmaps.
template <typename T>
class Pages {
 public:
  Pages() = default;
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages() {
    if (data_ != nullptr) munmap(const_cast<std::remove_const_t<T>*>(data_), size_ * sizeof(T));
  }

  // Zeros.
  bool Allocate(size_t count) {
    return Map(count * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  }
  // The contents of a regular file of `most` bytes at most.
  bool MapFile(int file, size_t most) {
    struct stat status;
    if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size <= 0) return false;
    const auto size = static_cast<size_t>(status.st_size);
    return size <= most && Map(size, PROT_READ, MAP_PRIVATE, file);
  }

  T* begin() const { return data_; }
  T* end() const { return data_ + size_; }
  T& operator[](size_t index) const { return data_[index]; }
  size_t size() const { return size_; }

 private:
  bool Map(size_t bytes, int protection, int flags, int file) {
    void* got = mmap(nullptr, bytes, protection, flags, file, 0);
    if (got == MAP_FAILED) return false;
    data_ = static_cast<T*>(got);
    size_ = bytes / sizeof(T);
    return true;
  }

  T* data_ = nullptr;
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
  const uint64_t* addresses() const { return addresses_.begin(); }
  LoadedModule* ModuleOf(size_t index) { return ModuleAt(addresses_[index]); }
  // Returns null if no module has code there.
  LoadedModule* ModuleAt(uint64_t address);

 private:
  struct Name {
    uint64_t hash;  // 0: free
    bool found;
  };

  static size_t Patchable(const LoadedModule& module, uint64_t* entries);
  void TakeLine(const signal_safe::ProfileLine& line, PatchCounts* counts);
  Name* FindName(uint64_t hash);
  void FindByName(PatchCounts* counts);
  void TakeSymbol(const LoadedModule& module, uint64_t address, uint64_t hash);
  void Add(uint64_t address);
  void SortAndUnite();

  Pages<LoadedModule> modules_;
  size_t module_count_ = 0;
  Pages<uint64_t> addresses_;
  size_t count_ = 0;
  Pages<Name> names_;  // a power of two, twice the lines
  size_t name_count_ = 0;
};

}  // namespace recrash::watch

#endif  // RECRASH_AGENT_CLIENT_WATCH_PROFILED_ENTRIES_H_
