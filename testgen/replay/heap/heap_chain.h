// Whether a call has written beyond a block of glibc's heap. The heap is a chain: at the head of each chunk stands its
// size, which leads to the next one. malloc and free split and join chunks, and the chain still leads from end to end;
// who writes beyond a block breaks it.
//
//   const HeapChain chain = FollowHeap(heap_start, heap_end, read);   // before the call
//   if (const uint64_t block = FindOverrun(chain, heap_end_now, read)) Say("wrote beyond the block at", block);
//
// An overrun that stays within the room of its chunk, or writes what could be a size, is not seen. Heaps of other
// threads' arenas are not looked at. Uses neither libc nor memory of its own.
#ifndef RECRASH_TESTGEN_REPLAY_HEAP_HEAP_CHAIN_H_
#define RECRASH_TESTGEN_REPLAY_HEAP_HEAP_CHAIN_H_

#include <stdint.h>

namespace recrash::replay {

// Reads a word; false where that is not possible.
using ReadHeapWord = bool (*)(uint64_t address, uint64_t* word);

struct HeapChain {
  uint64_t start = 1;  // of the first chunk
  uint64_t last = 0;   // the last one that has a size; less than `start`: nothing is known
  uint64_t end = 0;    // of the heap then; it may have grown since
};

HeapChain FollowHeap(uint64_t heap_start, uint64_t heap_end, ReadHeapWord read);

// Returns the address, as malloc gave it out, of the block before the first head that leads nowhere; 0: there is none.
uint64_t FindOverrun(const HeapChain& chain, uint64_t heap_end, ReadHeapWord read);

}  // namespace recrash::replay

#endif  // RECRASH_TESTGEN_REPLAY_HEAP_HEAP_CHAIN_H_
