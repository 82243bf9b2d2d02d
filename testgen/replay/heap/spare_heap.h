// malloc and free for a replay that looks for bad accesses: no address is given out twice, and there is a gap behind
// each block. So whatever points into a freed block, or behind the end of one, is known for good.
//
//   if (UseSpareHeap(options)) ...          // right before the call; the process has no way back
//   const HeapPlace place = FindInHeap(address);
//
// The entries of the C library's functions are overwritten, so that all callers are served, the library's own among
// them. Blocks of the recorded heap stay where they are; one that is freed is marked. Makes raw system calls only.
#ifndef RECRASH_TESTGEN_REPLAY_HEAP_SPARE_HEAP_H_
#define RECRASH_TESTGEN_REPLAY_HEAP_SPARE_HEAP_H_

#include <stdint.h>

#include "testgen/replay/heap/heap_chain.h"

namespace recrash::replay {

// The functions that are replaced.
constexpr const char* kHeapFunctions[] = {"malloc",   "free",           "calloc", "realloc", "reallocarray",
                                          "memalign", "posix_memalign", "valloc", "pvalloc", "malloc_usable_size"};
constexpr int kHeapFunctionCount = sizeof kHeapFunctions / sizeof *kHeapFunctions;

struct SpareHeapOptions {
  const uint64_t* entries;        // of kHeapFunctions in the C library; 0: it does not have the function
  uint64_t heap_start, heap_end;  // of the recorded heap; 0: what it holds is not known
  uint64_t main_arena;            // live; or 0
  ReadHeapWord read;
  void (*give_up)();  // ends the process, where memory runs out
};

// False: there is no memory for this, and nothing was changed.
bool UseSpareHeap(const SpareHeapOptions& options);

struct HeapPlace {
  enum Kind : uint32_t { kNotKnown, kLive, kFreed, kBehind, kUnused } kind;
  uint64_t block;
  uint64_t size;
};

// What lies at the address. kBehind: between the end of that block and the next one.
HeapPlace FindInHeap(uint64_t address);

}  // namespace recrash::replay

#endif  // RECRASH_TESTGEN_REPLAY_HEAP_SPARE_HEAP_H_
