// Allocates executable memory for stubs, near the module whose entries lead to them, and their counters.
#ifndef RECRASH_AGENT_CLIENT_WATCH_STUB_AREA_H_
#define RECRASH_AGENT_CLIENT_WATCH_STUB_AREA_H_

#include <stddef.h>
#include <stdint.h>

#include "agent/client/watch/stub.h"

namespace recrash::watch {

// In this order:
//  - the pointer that stubs call through, in the place of one stub;
//  - the stubs;
//  - their counters, on pages of their own, which stay writable;
//  - a page without access, so that the kernel does not merge the counters with another mapping.
struct StubArea {
  Stub* stubs = nullptr;
  size_t count = 0;     // made
  size_t capacity = 0;  // 0: there is no room

  void* slot() const { return stubs - 1; }
  EntryCounter* counters() const;
  // Return the stub that has its code, or its counter, at `address`; null: none of these.
  Stub* Holding(uint64_t address) const;
  Stub* CountingIn(uint64_t address) const;
};

// Allocates below [begin, end), within the two GiB that a jump reaches. Above it the heap of a program at a fixed
// address may have to grow. The area is writable until SealStubs.
StubArea MakeStubArea(uint64_t begin, uint64_t end, size_t capacity);
// Makes the stubs executable and read-only. If the system forbids it, drops the area and returns false.
bool SealStubs(StubArea* area);
void DropStubArea(StubArea* area);

}  // namespace recrash::watch

#endif  // RECRASH_AGENT_CLIENT_WATCH_STUB_AREA_H_
