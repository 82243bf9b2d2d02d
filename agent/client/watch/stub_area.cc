#include "agent/client/watch/stub_area.h"

#include <string.h>
#include <sys/mman.h>

#include "agent/base/signal_safe/pages.h"
#include "agent/client/watch/trampoline.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000  // older kernels take the address as a wish, which will do
#endif

namespace recrash::watch {
namespace {

using signal_safe::kPage;
using signal_safe::PageUp;

constexpr uint64_t kStep = 1 << 20;
constexpr uint64_t kReach = (2ull << 30) - (16 << 20);
constexpr uint64_t kLowest = 64 << 10;

size_t StubBytes(size_t capacity) { return PageUp((capacity + 1) * sizeof(Stub)); }
size_t CounterBytes(size_t capacity) { return PageUp(capacity * sizeof(EntryCounter)); }
size_t BytesFor(size_t capacity) { return StubBytes(capacity) + CounterBytes(capacity) + kPage; }

void* MapBelow(uint64_t begin, uint64_t end, size_t size) {
  for (uint64_t at = begin - size; at < begin && at >= kLowest && end - at < kReach; at -= kStep) {
    void* wish = reinterpret_cast<void*>(at);
    void* got = mmap(wish, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (got == wish) return got;
    if (got != MAP_FAILED) munmap(got, size);
    if (at < kStep) break;
  }
  return nullptr;
}

// Returns the stub to which the element at `address` belongs; `elements` has one for each.
template <typename T>
Stub* StubOf(const StubArea& area, const T* elements, uint64_t address) {
  const uint64_t index = (address - reinterpret_cast<uint64_t>(elements)) / sizeof(T);
  return index < area.count ? area.stubs + index : nullptr;
}

}  // namespace

EntryCounter* StubArea::counters() const {
  return reinterpret_cast<EntryCounter*>(static_cast<char*>(slot()) + StubBytes(capacity));
}

Stub* StubArea::Holding(uint64_t address) const { return StubOf(*this, stubs, address); }
Stub* StubArea::CountingIn(uint64_t address) const { return StubOf(*this, counters(), address); }

StubArea MakeStubArea(uint64_t begin, uint64_t end, size_t capacity) {
  void* memory = MapBelow(begin, end, BytesFor(capacity));
  if (memory == nullptr) return {};
  mprotect(static_cast<char*>(memory) + BytesFor(capacity) - kPage, kPage, PROT_NONE);
  PrepareTrampoline();
  const TrampolineCode code = Trampoline();
  memcpy(memory, &code, sizeof code);
  return {static_cast<Stub*>(memory) + 1, 0, capacity};
}

bool SealStubs(StubArea* area) {
  if (mprotect(area->slot(), StubBytes(area->capacity), PROT_READ | PROT_EXEC) == 0) return true;
  DropStubArea(area);
  return false;
}

void DropStubArea(StubArea* area) {
  if (area->capacity != 0) munmap(area->slot(), BytesFor(area->capacity));
  *area = StubArea();
}

}  // namespace recrash::watch
