#include "testgen/replay/heap/spare_heap.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>

#include "agent/base/signal_safe/pages.h"
#include "agent/base/signal_safe/system_call.h"
#include "testgen/replay/heap/heap_blocks.h"

namespace recrash::replay {
namespace {

using signal_safe::Call;

constexpr uint64_t kPage = 4096;
constexpr uint64_t kRoom = 512ull << 20;
constexpr uint64_t kMostBlocks = 4 << 20;
constexpr uint64_t kAlignment = 16;
constexpr uint64_t kGap = 64;

// Of the replay's process alone.
struct {
  volatile char lock;
  uint64_t next;
  uint64_t start, end;
  HeapBlocks given;     // by this heap
  HeapBlocks recorded;  // none: not known
  void (*give_up)();
} own;

uint64_t Number(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

void* Pointer(uint64_t address) { return reinterpret_cast<void*>(address); }

// The subject's memcpy may be replaced.
void Copy(uint64_t to, uint64_t from, uint64_t size) {
  __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
}

class Locked {
 public:
  Locked() {
    while (__atomic_test_and_set(&own.lock, __ATOMIC_ACQUIRE)) Call(SYS_sched_yield);
  }
  ~Locked() { __atomic_clear(&own.lock, __ATOMIC_RELEASE); }
};

const HeapBlocks* BlocksAround(uint64_t address) {
  if (address >= own.start && address < own.end) return &own.given;
  const HeapBlocks& recorded = own.recorded;
  if (recorded.count == 0) return nullptr;
  const HeapBlock& last = recorded.first[recorded.count - 1];
  return address >= recorded.first[0].start && address < last.start + last.size ? &recorded : nullptr;
}

// The block that begins there, or null.
HeapBlock* BlockOf(const void* start) {
  const uint64_t address = Number(start);
  const HeapBlocks* blocks = BlocksAround(address);
  HeapBlock* block = blocks ? BlockAt(*blocks, address) : nullptr;
  return block && block->start == address ? block : nullptr;
}

void* Allocate(uint64_t alignment, uint64_t size) {
  Locked locked;
  if (alignment < kAlignment) alignment = kAlignment;
  const uint64_t start = (own.next + alignment - 1) & -alignment;
  if (size > kRoom || alignment > kRoom || start + size + kGap > own.end || own.given.count == own.given.room)
    own.give_up();
  own.next = start + size + kGap;
  own.given.first[own.given.count++] = {start, size, BlockState::kLive};
  return Pointer(start);
}

// Of a block that is in no table: of another thread's arena, or with a mapping of its own.
uint64_t ChunkSize(const void* start) {
  constexpr uint64_t kFlags = 7, kMapped = 2;
  const uint64_t word = *reinterpret_cast<const uint64_t*>(Number(start) - sizeof(uint64_t));
  return (word & ~kFlags) - (word & kMapped ? 16 : 8);
}

uint64_t SizeOf(const void* start) {
  const HeapBlock* block = BlockOf(start);
  return block ? block->size : ChunkSize(start);
}

// ---- What stands in for the C library's functions. Memory that was never given out is zero. ----

void* Malloc(size_t size) { return Allocate(kAlignment, size); }

void Free(void* start) {
  Locked locked;
  if (HeapBlock* block = start ? BlockOf(start) : nullptr) block->state = BlockState::kFreed;
}

void* Calloc(size_t count, size_t size) {
  size_t all = 0;
  if (__builtin_mul_overflow(count, size, &all)) all = SIZE_MAX;
  return Allocate(kAlignment, all);
}

void* Realloc(void* start, size_t size) {
  if (!start) return Malloc(size);
  if (size == 0) return Free(start), nullptr;
  const uint64_t before = SizeOf(start);
  void* moved = Malloc(size);
  Copy(Number(moved), Number(start), before < size ? before : size);
  Free(start);
  return moved;
}

void* ReallocArray(void* start, size_t count, size_t size) {
  size_t all = 0;
  if (__builtin_mul_overflow(count, size, &all)) all = SIZE_MAX;
  return Realloc(start, all);
}

void* Memalign(size_t alignment, size_t size) { return Allocate(alignment, size); }

int PosixMemalign(void** out, size_t alignment, size_t size) {
  if (alignment % sizeof(void*) || alignment == 0 || (alignment & (alignment - 1))) return EINVAL;
  *out = Allocate(alignment, size);
  return 0;
}

void* Valloc(size_t size) { return Allocate(kPage, size); }

void* Pvalloc(size_t size) { return Allocate(kPage, signal_safe::PageUp(size)); }

size_t UsableSize(void* start) { return start ? SizeOf(start) : 0; }

// In the order of kHeapFunctions. aligned_alloc is memalign.
void ListStandIns(uint64_t (&all)[kHeapFunctionCount]) {
  int count = 0;
  const auto add = [&](auto* function) { all[count++] = reinterpret_cast<uint64_t>(function); };
  add(Malloc);
  add(Free);
  add(Calloc);
  add(Realloc);
  add(ReallocArray);
  add(Memalign);
  add(PosixMemalign);
  add(Valloc);
  add(Pvalloc);
  add(UsableSize);
}

// Functions begin at multiples of 16, so that the jump does not reach into the next one.
bool JumpFrom(uint64_t entry, uint64_t to) {
  constexpr uint8_t kJump[] = {0xff, 0x25, 0, 0, 0, 0};  // jmp *(%rip)
  const uint64_t start = signal_safe::PageDown(entry), end = signal_safe::PageUp(entry + sizeof kJump + sizeof to);
  if (Call(SYS_mprotect, start, end - start, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) return false;
  Copy(entry, Number(kJump), sizeof kJump);
  Copy(entry + sizeof kJump, Number(&to), sizeof to);
  return true;
}

void* MapRoom(uint64_t size) {
  const long mapped =
      Call(SYS_mmap, 0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return mapped < 0 ? nullptr : Pointer(static_cast<uint64_t>(mapped));
}

bool MapBlocks(uint64_t count, HeapBlocks* blocks) {
  *blocks = {static_cast<HeapBlock*>(MapRoom(count * sizeof(HeapBlock))), 0, count};
  return blocks->first != nullptr;
}

void ReadRecorded(const SpareHeapOptions& options) {
  constexpr uint64_t kSmallest = 32;
  const uint64_t start = options.heap_start, end = options.heap_end;
  if (end <= start || !MapBlocks((end - start) / kSmallest + 1, &own.recorded)) return;
  ReadHeapBlocks(start, end, options.main_arena, options.read, &own.recorded);
}

}  // namespace

bool UseSpareHeap(const SpareHeapOptions& options) {
  own = {};
  own.give_up = options.give_up;
  own.start = Number(MapRoom(kRoom));
  if (!own.start || !MapBlocks(kMostBlocks, &own.given)) return false;
  own.next = own.start;
  own.end = own.start + kRoom;
  ReadRecorded(options);
  uint64_t functions[kHeapFunctionCount];
  ListStandIns(functions);
  for (int i = 0; i < kHeapFunctionCount; ++i) {
    if (options.entries[i] && !JumpFrom(options.entries[i], functions[i])) options.give_up();
  }
  return true;
}

HeapPlace FindInHeap(uint64_t address) {
  const HeapBlocks* blocks = BlocksAround(address);
  const HeapBlock* block = blocks ? BlockAt(*blocks, address) : nullptr;
  if (!block) return {HeapPlace::kNotKnown, 0, 0};
  HeapPlace place = {HeapPlace::kLive, block->start, block->size};
  if (block->state == BlockState::kUnused) {
    place.kind = HeapPlace::kUnused;
  } else if (address - block->start >= block->size) {
    place.kind = HeapPlace::kBehind;
  } else if (block->state == BlockState::kFreed) {
    place.kind = HeapPlace::kFreed;
  }
  return place;
}

}  // namespace recrash::replay
