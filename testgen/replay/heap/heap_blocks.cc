// Layouts of glibc 2.32 to 2.41.
#include "testgen/replay/heap/heap_blocks.h"

namespace recrash::replay {
namespace {

constexpr uint64_t kAlignment = 16;
constexpr uint64_t kHeader = 16;  // of a chunk; its size is the second word
constexpr uint64_t kWord = 8;     // a block may use the first word of the next chunk
constexpr uint64_t kPreviousInUse = 1;
constexpr uint64_t kFlags = 7;
constexpr uint64_t kSmallest = 32;

constexpr uint64_t kCacheSize = 0x290;  // of the first thread's cache, the first chunk of the heap
constexpr uint64_t kCacheLists = 64;
constexpr uint64_t kCacheEntries = 128;  // behind the counts

constexpr uint64_t kFastLists = 0x10;  // in an arena
constexpr uint64_t kFastListCount = 10;
constexpr int kLongestList = 1 << 16;

// Marks a list of freed blocks. Each holds the link to the next one, hidden by the address at which it lies. `shift`:
// how far below a block its link leads.
void MarkList(uint64_t block, uint64_t shift, ReadHeapWord read, const HeapBlocks& blocks) {
  for (int i = 0; i < kLongestList; ++i) {
    HeapBlock* found = BlockAt(blocks, block);
    uint64_t link = 0;
    if (!found || found->start != block || !read(block, &link)) return;
    found->state = BlockState::kFreed;
    const uint64_t next = link ^ (block >> 12);
    if (next == 0) return;
    block = next + shift;
  }
}

void MarkLists(uint64_t main_arena, ReadHeapWord read, const HeapBlocks& blocks) {
  const HeapBlock& cache = blocks.first[0];
  uint64_t head = 0;
  for (uint64_t i = 0; cache.size + kWord == kCacheSize && i < kCacheLists; ++i) {
    if (read(cache.start + kCacheEntries + i * kWord, &head) && head) MarkList(head, 0, read, blocks);
  }
  for (uint64_t i = 0; main_arena && i < kFastListCount; ++i) {
    if (read(main_arena + kFastLists + i * kWord, &head) && head) MarkList(head + kHeader, kHeader, read, blocks);
  }
}

}  // namespace

HeapBlock* BlockAt(const HeapBlocks& blocks, uint64_t address) {
  size_t low = 0, high = blocks.count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (blocks.first[middle].start <= address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low ? &blocks.first[low - 1] : nullptr;
}

bool ReadHeapBlocks(uint64_t heap_start, uint64_t heap_end, uint64_t main_arena, ReadHeapWord read,
                    HeapBlocks* blocks) {
  blocks->count = 0;
  if (heap_start == 0 || heap_end <= heap_start) return false;
  uint64_t chunk = (heap_start + kAlignment - 1) / kAlignment * kAlignment;
  while (chunk < heap_end) {
    uint64_t word = 0;
    const bool fits = blocks->count < blocks->room && read(chunk + kWord, &word);
    const uint64_t size = word & ~kFlags;
    if (!fits || size < kSmallest || size % kAlignment || size > heap_end - chunk) return blocks->count = 0, false;
    if (blocks->count && !(word & kPreviousInUse)) blocks->first[blocks->count - 1].state = BlockState::kFreed;
    blocks->first[blocks->count++] = {chunk + kHeader, size - kWord, BlockState::kLive};
    chunk += size;
  }
  if (chunk != heap_end) return blocks->count = 0, false;
  blocks->first[blocks->count - 1].state = BlockState::kUnused;
  MarkLists(main_arena, read, *blocks);
  return true;
}

}  // namespace recrash::replay
