// What this process has mapped, found out without /proc: nothing may be mounted there, or the program has left it by
// chroot().
//
// Modules are known by the loader's list, the rest by asking the kernel of places where something may be. What is found
// has no name, and nobody can tell whether it is shared, or excluded from core dumps.
//
// Signal-safe.
#ifndef RECRASH_AGENT_CLIENT_ADDRESS_SPACE_ADDRESS_SPACE_H_
#define RECRASH_AGENT_CLIENT_ADDRESS_SPACE_ADDRESS_SPACE_H_

#include <stdint.h>

#include "agent/base/signal_safe/memory_maps.h"
#include "agent/client/address_space/extents.h"
#include "agent/client/address_space/segments.h"

namespace recrash::client {

class AddressSpace {
 public:
  // Before anything is found. `stack`: an address in the main thread's.
  RECRASH_SIGNAL_SAFE void Begin(const LoadedAt& loaded, uint64_t stack, uint64_t deadline);
  // Memory of the client's own, which lies by itself whatever is beside it.
  RECRASH_SIGNAL_SAFE void SetApart(uint64_t start, uint64_t size, bool withheld);
  // Memory that is surely in use.
  RECRASH_SIGNAL_SAFE void Use(uint64_t address);
  // Finds all, from what is in use.
  RECRASH_SIGNAL_SAFE void Find();

  uint32_t count() const { return list_.count(); }
  const Mapped& at(uint32_t index) const { return list_.at(index); }
  // There may be more.
  bool is_cut() const { return list_.is_cut() || extents_.is_cut(); }

 private:
  RECRASH_SIGNAL_SAFE void Split(const Extent& extent);
  RECRASH_SIGNAL_SAFE void SplitUnnamed(uint64_t start, uint64_t end);
  RECRASH_SIGNAL_SAFE uint64_t TakeUnreadable(uint64_t start, uint64_t end);
  RECRASH_SIGNAL_SAFE uint64_t TakeReadable(uint64_t start, uint64_t end);
  RECRASH_SIGNAL_SAFE void SplitNew();
  RECRASH_SIGNAL_SAFE void Follow(const Mapped& mapped);
  RECRASH_SIGNAL_SAFE void FollowWord(uint64_t word);
  RECRASH_SIGNAL_SAFE void Name();

  MappedList segments_;
  MappedList list_;
  Extents extents_;
  Extent split_[Extents::kMost];  // those that are in the list
  uint32_t split_count_;
  uint64_t stack_;
  uint64_t break_end_;
  uint64_t vdso_;
  uint64_t asked_[1024];  // pages that were looked at, each with one more than its address
};

// As a line of /proc/self/maps says it.
RECRASH_SIGNAL_SAFE signal_safe::Map AsMap(const Mapped& mapped);

}  // namespace recrash::client

#endif  // RECRASH_AGENT_CLIENT_ADDRESS_SPACE_ADDRESS_SPACE_H_
