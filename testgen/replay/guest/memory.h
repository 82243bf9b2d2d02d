// Recorded memory outside the modules, mapped where it was; what is done once, before the test library is loaded.
#ifndef RECRASH_TESTGEN_REPLAY_GUEST_MEMORY_H_
#define RECRASH_TESTGEN_REPLAY_GUEST_MEMORY_H_

#include <stdint.h>

namespace recrash::replay {

enum class Placement { kPlaced, kCollision };

// Heap, stacks, thread control blocks and mapped files at their addresses, translated. On a collision nothing can be
// saved: the process has to start anew, with other addresses.
Placement PlaceMemory();

// The recorded images of modules that have been rebuilt since, with their memory: literals and removed things still
// resolve there.
void PlaceGhosts();

// Their contents anew.
void FillGhosts();

// Maps the recorded contents of one mapping again (in-process replays change them).
void RefreshMemory();

}  // namespace recrash::replay

#endif  // RECRASH_TESTGEN_REPLAY_GUEST_MEMORY_H_
