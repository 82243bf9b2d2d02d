// Memory as it was when a frame was entered: what differs from the crash is laid over the recorded memory.
#ifndef RECRASH_TESTGEN_REPLAY_GUEST_ENTRY_STATE_H_
#define RECRASH_TESTGEN_REPLAY_GUEST_ENTRY_STATE_H_

#include "testgen/replay/plan/plan.h"

namespace recrash::replay {

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

#endif  // RECRASH_TESTGEN_REPLAY_GUEST_ENTRY_STATE_H_
