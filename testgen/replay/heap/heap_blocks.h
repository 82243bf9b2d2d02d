// The blocks of glibc's heap, and which of them are freed, as the chunks and lists in memory say.
//
//   HeapBlocks blocks{storage, 0, room};
//   if (ReadHeapBlocks(heap_start, heap_end, main_arena, read, &blocks)) block = BlockAt(blocks, address);
//
// Only what is certain is said: a chunk that is in another thread's cache may count as live. Heaps of other threads'
// arenas and blocks with a mapping of their own are not among them. Uses neither libc nor memory of its own.
#ifndef RECRASH_TESTGEN_REPLAY_HEAP_HEAP_BLOCKS_H_
#define RECRASH_TESTGEN_REPLAY_HEAP_HEAP_BLOCKS_H_

#include <stddef.h>
#include <stdint.h>

#include "testgen/replay/heap/heap_chain.h"

namespace recrash::replay {

enum class BlockState : uint32_t {
  kLive,
  kFreed,
  kUnused,  // the rest of the heap, of which no block has been cut
};

struct HeapBlock {
  uint64_t start;
  uint64_t size;
  BlockState state;
};

// Ascending, in the caller's memory.
struct HeapBlocks {
  HeapBlock* first;
  size_t count;
  size_t room;
};

// Reads all blocks. False, and no blocks: the chunks do not lead from the start to the end of the heap, or there is no
// room for them. `main_arena` may be 0: then blocks in its fast lists count as live.
bool ReadHeapBlocks(uint64_t heap_start, uint64_t heap_end, uint64_t main_arena, ReadHeapWord read, HeapBlocks* blocks);

// Returns the last block that begins at or below the address, or null.
HeapBlock* BlockAt(const HeapBlocks& blocks, uint64_t address);

}  // namespace recrash::replay

#endif  // RECRASH_TESTGEN_REPLAY_HEAP_HEAP_BLOCKS_H_
