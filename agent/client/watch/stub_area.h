// Executable memory for stubs, near the module whose entries lead to them, and their counters.
#ifndef RECRASH_AGENT_CLIENT_WATCH_STUB_AREA_H_
#define RECRASH_AGENT_CLIENT_WATCH_STUB_AREA_H_

#include <stddef.h>
#include <stdint.h>

#include "agent/client/watch/stub.h"

namespace recrash::watch {

// First the pointer that stubs call through, in the place of one stub; then the stubs; on pages of their own, which
// stay writable, their counters; then a page that nobody may touch, so that the kernel unites them with no other
// mapping.
struct StubArea {
  Stub* stubs = nullptr;
  size_t count = 0;     // made
  size_t capacity = 0;  // 0: there is no room

  uint64_t slot() const { return reinterpret_cast<uint64_t>(stubs) - sizeof(Stub); }
  EntryCounter* counters() const;
  uint64_t end() const;
  Stub* Holding(uint64_t address) const;
};

// Below [begin, end), within the two GiB that a jump reaches, so that what grows upwards (the heap behind a program at
// a fixed address) has its room. Writable until SealStubs.
StubArea MakeStubArea(uint64_t begin, uint64_t end, size_t capacity);
// The stubs are executable and read-only from now on; false, and the area is gone, where the system forbids it.
bool SealStubs(StubArea* area);
void DropStubArea(StubArea* area);

}  // namespace recrash::watch

#endif  // RECRASH_AGENT_CLIENT_WATCH_STUB_AREA_H_
