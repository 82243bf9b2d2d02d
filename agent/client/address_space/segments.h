// What the loaded modules have mapped, by their program headers: for a process without /proc.
//
// Signal-safe: the loader's list is read without its lock, which another thread may hold; so each read may fail.
#ifndef RECRASH_AGENT_CLIENT_ADDRESS_SPACE_SEGMENTS_H_
#define RECRASH_AGENT_CLIENT_ADDRESS_SPACE_SEGMENTS_H_

#include <stdint.h>

#include "shadowstack/abi.h"

namespace recrash::client {

enum class MappedKind : uint8_t { kAnonymous, kProgram, kLibrary, kVdso, kVvar, kHeap, kStack };

struct Mapped {
  uint64_t start;
  uint64_t end;
  uint64_t offset;   // in the file
  const char* name;  // of a library, as the loader has it
  MappedKind kind;
  bool readable;
  bool writable;
  bool executable;
  bool withheld;  // not to be written to a report
};

// What start-up found out.
struct LoadedAt {
  const void* loader;  // its r_debug; null where nothing is loaded
  uint64_t headers;    // of the program
  uint64_t header_count;
  uint64_t vdso;
};

// A table of what is mapped.
class MappedList {
 public:
  static constexpr uint32_t kMost = 4096;

  RECRASH_SIGNAL_SAFE void Clear() { count_ = cut_ = 0; }
  RECRASH_SIGNAL_SAFE void Add(const Mapped& mapped) {
    if (mapped.start >= mapped.end) return;
    if (count_ == kMost)
      cut_ = 1;
    else
      entries_[count_++] = mapped;
  }
  RECRASH_SIGNAL_SAFE void Sort();
  // REQUIRES: sorted. The first that ends behind the address; `count()` where there is none.
  RECRASH_SIGNAL_SAFE uint32_t FirstBehind(uint64_t address) const;

  uint32_t count() const { return count_; }
  bool is_cut() const { return cut_ != 0; }
  const Mapped& at(uint32_t index) const { return entries_[index]; }
  Mapped& at(uint32_t index) { return entries_[index]; }

 private:
  Mapped entries_[kMost];
  uint32_t count_;
  uint32_t cut_;
};

// Puts all segments into the list, sorted.
RECRASH_SIGNAL_SAFE void ListSegments(const LoadedAt& loaded, MappedList& list);

}  // namespace recrash::client

#endif  // RECRASH_AGENT_CLIENT_ADDRESS_SPACE_SEGMENTS_H_
