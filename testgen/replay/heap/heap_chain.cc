#include "testgen/replay/heap/heap_chain.h"

namespace recrash::replay {
namespace {

constexpr uint64_t kAlignment = 16;
constexpr uint64_t kHeader = 16;        // of a chunk; its size is the second word
constexpr uint64_t kFence = 16;         // where the heap goes on elsewhere, two heads without a chunk end this part
constexpr uint64_t kPreviousInUse = 1;  // the only flag that sizes have in the main heap

// The end of this chunk; 0 where no size stands at its head.
uint64_t Next(uint64_t chunk, uint64_t heap_end, ReadHeapWord read) {
  uint64_t word = 0;
  if (!read(chunk + sizeof word, &word)) return 0;
  const uint64_t size = word & ~kPreviousInUse;
  return size >= kFence && size % kAlignment == 0 && size <= heap_end - chunk ? chunk + size : 0;
}

}  // namespace

HeapChain FollowHeap(uint64_t heap_start, uint64_t heap_end, ReadHeapWord read) {
  HeapChain chain;
  if (heap_start == 0) return chain;
  chain.end = heap_end;
  chain.start = (heap_start + kAlignment - 1) / kAlignment * kAlignment;
  for (uint64_t chunk = chain.start, next; chunk < heap_end; chunk = next) {
    next = Next(chunk, heap_end, read);
    if (next == 0) break;
    chain.last = chunk;
  }
  return chain;
}

uint64_t FindOverrun(const HeapChain& chain, uint64_t heap_end, ReadHeapWord read) {
  uint64_t before = chain.start;
  if (heap_end < chain.end) heap_end = chain.end;
  // The last chunk may have been joined to the one before it.
  for (uint64_t chunk = chain.start; chunk <= chain.last;) {
    const uint64_t next = Next(chunk, heap_end, read);
    if (next == 0) return before + kHeader;
    before = chunk;
    chunk = next;
  }
  return 0;
}

}  // namespace recrash::replay
