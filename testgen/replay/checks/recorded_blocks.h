// Tells AddressSanitizer of the recorded heap, so that what it finds there is true: which blocks are live, which are
// free, and where they end. Its allocator knows none of them.
//
//   SetArena(&blocks, start, end, state);     // each arena of glibc's malloc
//   AnnounceBlocks(&blocks, exact, read);     // in the process of the replay, before the call
//   if (FreeBlock(blocks, address) == Freed::kTwice) ...
//
// What malloc was asked for is not known, only what it gave: up to 15 bytes behind the end that the program meant
// belong to the block. What blocks are is read from the heads of glibc's chunks, as far as the chain of them leads,
// from each arena's fast bins, and from the caches of threads.
//
// Uses neither libc nor memory of its own.
#ifndef RECRASH_TESTGEN_REPLAY_CHECKS_RECORDED_BLOCKS_H_
#define RECRASH_TESTGEN_REPLAY_CHECKS_RECORDED_BLOCKS_H_

#include <stdint.h>

#include "testgen/replay/heap/heap_chain.h"

namespace recrash::replay {

// AddressSanitizer's own marks. It says heap-buffer-overflow, heap-use-after-free, use-after-poison of them.
constexpr uint8_t kBesideBlock = 0xfa;
constexpr uint8_t kFreedBlock = 0xfd;
// In memory of the crash: freed or beside a block then. How it was at the entry is not known.
constexpr uint8_t kBadAtCrash = 0xf7;
constexpr char kFoundAtMark[] = "use-after-poison";
constexpr char kByHeapOfCrash[] = "use of what was no live block at the crash";
constexpr char kFreedByHeapOfCrash[] = "free of what was no live block at the crash";

struct Arena {
  uint64_t start;  // of the first chunk
  uint64_t end;
  uint64_t state;  // glibc's malloc_state; 0: not known
  uint64_t known;  // chunks up to here were followed
};

constexpr int kMostArenas = 64;

struct RecordedBlocks {
  bool shadowed;           // AddressSanitizer is in the process
  uint64_t shadow_offset;  // shadow of `a`: (a >> 3) + shadow_offset
  bool detoured;           // what frees and resizes blocks passes by this code
  bool exact;              // memory is as at the entry
  Arena arenas[kMostArenas];
  int arena_count;
};

// The heap at the break.
void SetArena(RecordedBlocks* blocks, uint64_t start, uint64_t end, uint64_t state);
// The first heap of a thread's arena, by its malloc_state.
void SetThreadsArena(RecordedBlocks* blocks, uint64_t state, ReadHeapWord read);

// Marks blocks in the shadow. `exact`: memory is as it was when the call began.
void AnnounceBlocks(RecordedBlocks* blocks, bool exact, ReadHeapWord read);

// Takes all marks off a range.
void ClearMarks(const RecordedBlocks& blocks, uint64_t start, uint64_t end);

// The arena that the address lies in, or null.
const Arena* ArenaAt(const RecordedBlocks& blocks, uint64_t address);

// What malloc gave for the block, by the head of its chunk; 0: there is none.
uint64_t SizeOfBlock(uint64_t address, ReadHeapWord read);

enum class Freed {
  kDone,
  kTwice,         // it is free already
  kTwiceAtCrash,  // it was free at the crash
  kNoBlock,       // no block begins there
};

// Marks a block as freed.
Freed FreeBlock(const RecordedBlocks& blocks, uint64_t address, ReadHeapWord read);

}  // namespace recrash::replay

#endif  // RECRASH_TESTGEN_REPLAY_CHECKS_RECORDED_BLOCKS_H_
