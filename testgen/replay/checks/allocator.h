// AddressSanitizer's functions that free and resize blocks, with recorded blocks kept away from them: it would end the
// process, since it knows none of these.
//
//   FindAllocator(&blocks, find, hooks);      // once; sets blocks->shadowed and blocks->detoured
#ifndef RECRASH_TESTGEN_REPLAY_CHECKS_ALLOCATOR_H_
#define RECRASH_TESTGEN_REPLAY_CHECKS_ALLOCATOR_H_

#include <stdint.h>

#include "testgen/replay/checks/checkers.h"
#include "testgen/replay/checks/recorded_blocks.h"

namespace recrash::replay {

// What it asks of the guest.
struct AllocatorHooks {
  bool (*is_recorded)(uint64_t address);  // does the address lie in recorded memory?
  ReadHeapWord read;
  void (*report)(const char* finding, uint64_t address);  // ends the replay
};

// REQUIRES: recorded memory is not back yet. The blocks and hooks live as long as the process.
void FindAllocator(RecordedBlocks* blocks, FindFunction find, const AllocatorHooks& hooks);

}  // namespace recrash::replay

#endif  // RECRASH_TESTGEN_REPLAY_CHECKS_ALLOCATOR_H_
