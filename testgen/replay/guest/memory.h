// Recorded memory outside the modules, mapped where it was; what is done once, before the test library is loaded.
#ifndef RECRASH_TESTGEN_REPLAY_GUEST_MEMORY_H_
#define RECRASH_TESTGEN_REPLAY_GUEST_MEMORY_H_

#include <stdint.h>

#include "testgen/replay/plan/plan.h"

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

// Pages without content in place of what is there; a system call alone.
void MapAnew(uint64_t start, uint64_t end, int protection);

// Maps the recorded contents of one mapping again (in-process replays change them).
void RefreshMemory();

// ---- Memory as it was when a frame was entered: what differs from the crash is laid over the recorded memory ----

// The frame's, or null.
const plan::EntryState* EntryStateOf(const plan::Frame& frame);

// In the child, when the modules' data is back and before what stays live is: an entry's page may hold both. Pages of a
// module that was rebuilt go to its ghost, from where its objects take them over.
void PutEntryState(const plan::EntryState& state);

// The heap may have grown since the entry. malloc grows it again, and the kernel only where nothing is mapped.
void FreeHeapBeyond(const plan::EntryState& state);

// In place, after the call: memory as at the crash can be put back again.
void TakeEntryStateAway(const plan::EntryState& state);

}  // namespace recrash::replay

#endif  // RECRASH_TESTGEN_REPLAY_GUEST_MEMORY_H_
