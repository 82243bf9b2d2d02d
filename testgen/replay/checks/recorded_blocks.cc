#include "testgen/replay/checks/recorded_blocks.h"

namespace recrash::replay {
namespace {

constexpr uint64_t kGranule = 8;  // bytes of memory for one of the shadow
constexpr uint64_t kAlignment = 16;
constexpr uint64_t kSizeWord = 8;  // offset in a chunk
constexpr uint64_t kHeader = 16;
constexpr uint64_t kSmallest = 32;  // of a chunk, its header counted
constexpr uint64_t kFlags = 7;
constexpr uint64_t kPreviousInUse = 1;
constexpr uint64_t kMapped = 2;  // the chunk is a mapping of its own

// struct malloc_state of glibc 2.27 to 2.41 on x86-64.
constexpr uint64_t kFastBins = 0x10;
constexpr uint64_t kTop = 0x60;
constexpr uint64_t kStateSize = 0x898;
constexpr uint64_t kLargestHeap = 64 << 20;  // a thread's heap begins at a multiple of it
constexpr uint64_t kHeapSize = 16;           // offset in it
constexpr int kFastBinCount = 10;
constexpr uint64_t kLargest = 1 << 30;
constexpr int kMostListed = 1 << 16;

// tcache_perthread_struct of glibc 2.30 to 2.41, the first block of an arena.
constexpr uint64_t kCacheChunk = 0x290;
constexpr int kCacheLists = 64;
constexpr uint64_t kCacheEntries = kCacheLists * sizeof(uint16_t);

void Mark(const RecordedBlocks& blocks, uint64_t start, uint64_t end, uint8_t mark) {
  auto* first = reinterpret_cast<uint8_t*>((start / kGranule) + blocks.shadow_offset);
  const auto* last = reinterpret_cast<uint8_t*>((end / kGranule) + blocks.shadow_offset);
  for (volatile uint8_t* at = first; at < last; ++at) *at = mark;
}

uint8_t MarkAt(const RecordedBlocks& blocks, uint64_t address) {
  return *reinterpret_cast<const uint8_t*>((address / kGranule) + blocks.shadow_offset);
}

// "Safe linking" of glibc 2.32 and later.
uint64_t Unlinked(uint64_t word, uint64_t place) { return word ^ (place >> 12); }

class Walk {
 public:
  Walk(const RecordedBlocks& blocks, ReadHeapWord read) : blocks_(blocks), read_(read) {
    beside_ = blocks.exact ? kBesideBlock : kBadAtCrash;
    freed_ = blocks.exact ? kFreedBlock : kBadAtCrash;
  }

  // The heads, what is free by the flag of the next head, and what malloc has not given out.
  void MarkChunks(Arena* arena) {
    uint64_t chunk = arena->start, top = 0;
    arena->known = chunk;
    // Else the heap is not glibc's.
    if (!arena->state || !read_(arena->state + kTop, &top) || top < chunk || top >= arena->end) return;
    while (chunk < top) {
      const uint64_t size = SizeOfChunk(chunk, top);
      uint64_t head = 0;
      if (size == 0 || !read_(chunk + size + kSizeWord, &head)) return;
      Mark(blocks_, chunk + kSizeWord, chunk + kHeader, beside_);
      if (!(head & kPreviousInUse)) MarkFreed(chunk + kHeader);
      chunk += size;
      arena->known = chunk;
    }
    Mark(blocks_, top + kSizeWord, arena->end, beside_);
    arena->known = arena->end;
  }

  // Blocks in a thread's cache have its key behind the link. It is a random number that all threads share.
  void LearnKey(const Arena& arena) {
    uint64_t word = 0;
    if (!read_(arena.start + kSizeWord, &word) || (word & ~kFlags) != kCacheChunk) return;
    for (int list = 0; list < kCacheLists && key_ == 0; ++list) {
      const uint64_t place = arena.start + kHeader + kCacheEntries + static_cast<uint64_t>(list) * sizeof(uint64_t);
      uint64_t entry = 0;
      if (read_(place, &entry) && entry && IsBlock(entry)) read_(entry + sizeof key_, &key_);
    }
  }

  void MarkCached(const Arena& arena) {
    if (key_ == 0) return;
    for (uint64_t chunk = arena.start; chunk < arena.known;) {
      const uint64_t size = SizeOfChunk(chunk, arena.end);
      uint64_t key = 0;
      if (size == 0) return;
      if (read_(chunk + kHeader + sizeof key, &key) && key == key_) MarkFreed(chunk + kHeader);
      chunk += size;
    }
  }

  void MarkFastBins(const Arena& arena) {
    for (int bin = 0; arena.state && bin < kFastBinCount; ++bin) {
      uint64_t chunk = 0;
      read_(arena.state + kFastBins + static_cast<uint64_t>(bin) * sizeof chunk, &chunk);
      for (int i = 0; i < kMostListed && chunk && IsBlock(chunk + kHeader); ++i) {
        MarkFreed(chunk + kHeader);
        uint64_t link = 0;
        if (!read_(chunk + kHeader, &link)) break;
        chunk = Unlinked(link, chunk + kHeader);
      }
    }
  }

 private:
  // 0: no size stands there.
  uint64_t SizeOfChunk(uint64_t chunk, uint64_t end) const {
    uint64_t word = 0;
    if (chunk >= end || end - chunk < kSmallest || !read_(chunk + kSizeWord, &word)) return 0;
    const uint64_t size = word & ~kFlags;
    return size >= kSmallest && size % kAlignment == 0 && size <= end - chunk ? size : 0;
  }

  bool IsBlock(uint64_t address) const {
    const Arena* arena = ArenaAt(blocks_, address);
    return arena && address % kAlignment == 0 && address < arena->known &&
           MarkAt(blocks_, address - kGranule) == beside_;
  }

  void MarkFreed(uint64_t block) { Mark(blocks_, block, block + SizeOfBlock(block, read_), freed_); }

  const RecordedBlocks& blocks_;
  ReadHeapWord read_;
  uint8_t beside_, freed_;
  uint64_t key_ = 0;
};

}  // namespace

void SetArena(RecordedBlocks* blocks, uint64_t start, uint64_t end, uint64_t state) {
  if (blocks->arena_count == kMostArenas || start == 0 || end <= start) return;
  start = (start + kAlignment - 1) / kAlignment * kAlignment;
  blocks->arenas[blocks->arena_count++] = {start, end, state, start};
}

void SetThreadsArena(RecordedBlocks* blocks, uint64_t state, ReadHeapWord read) {
  // It begins with { arena, previous heap, size }.
  const uint64_t heap = state / kLargestHeap * kLargestHeap;
  uint64_t size = 0;
  if (read(heap + kHeapSize, &size) && size <= kLargestHeap) SetArena(blocks, state + kStateSize, heap + size, state);
}

void ClearMarks(const RecordedBlocks& blocks, uint64_t start, uint64_t end) { Mark(blocks, start, end, 0); }

const Arena* ArenaAt(const RecordedBlocks& blocks, uint64_t address) {
  for (int i = 0; i < blocks.arena_count; ++i) {
    const Arena& arena = blocks.arenas[i];
    if (address >= arena.start && address < arena.end) return &arena;
  }
  return nullptr;
}

void AnnounceBlocks(RecordedBlocks* blocks, bool exact, ReadHeapWord read) {
  if (!blocks->shadowed) return;
  blocks->exact = exact;
  Walk walk(*blocks, read);
  for (int i = 0; i < blocks->arena_count; ++i) walk.MarkChunks(&blocks->arenas[i]);
  for (int i = 0; i < blocks->arena_count; ++i) walk.LearnKey(blocks->arenas[i]);
  for (int i = 0; i < blocks->arena_count; ++i) walk.MarkCached(blocks->arenas[i]);
  for (int i = 0; i < blocks->arena_count; ++i) walk.MarkFastBins(blocks->arenas[i]);
}

uint64_t SizeOfBlock(uint64_t address, ReadHeapWord read) {
  uint64_t word = 0;
  if (address % kAlignment != 0 || !read(address - kSizeWord, &word)) return 0;
  const uint64_t size = word & ~kFlags;
  if (size < kSmallest || size % kAlignment != 0) return 0;
  return word & kMapped ? size - kHeader : size - kSizeWord;
}

Freed FreeBlock(const RecordedBlocks& blocks, uint64_t address, ReadHeapWord read) {
  const Arena* arena = ArenaAt(blocks, address);
  const bool known = arena && address < arena->known;
  const uint64_t size = SizeOfBlock(address, read);
  if (known) {
    if (size == 0 || MarkAt(blocks, address - kGranule) != (blocks.exact ? kBesideBlock : kBadAtCrash))
      return Freed::kNoBlock;
    if (MarkAt(blocks, address) == kFreedBlock) return Freed::kTwice;
    if (MarkAt(blocks, address) == kBesideBlock) return Freed::kNoBlock;  // what malloc has not given out
    if (!blocks.exact && MarkAt(blocks, address) == kBadAtCrash) return Freed::kTwiceAtCrash;
  }
  // Of a chunk that was not followed, its head is all that is known.
  if (known || (size != 0 && size < kLargest)) Mark(blocks, address, address + size, kFreedBlock);
  return Freed::kDone;
}

}  // namespace recrash::replay
