// The last steps of a replay: the modules' data, the thread control block, and the call.
#ifndef RECRASH_TESTGEN_REPLAY_GUEST_RESTORE_H_
#define RECRASH_TESTGEN_REPLAY_GUEST_RESTORE_H_

#include <stdint.h>

#include "testgen/replay/guest/call.h"
#include "testgen/replay/guest/rewind.h"
#include "testgen/replay/plan/plan.h"

namespace recrash::replay {

// Once, in the parent: translates the modules' recorded data, remembers what stays live.
void PrepareRestore();

// A call that is ready but for the memory it runs in.
struct PreparedCall {
  CallState state;
  struct StackWord {
    uint64_t address;
    uint64_t size;
    uint8_t bytes[16];
  } stack[64];
  int stack_count;
  const plan::EntryState* entry_state;  // null: memory is as at the crash
  const plan::Patch* fields;            // of the depth that is tried
  uint64_t field_count;
  StreamPlace streams[kMostStreams];  // to rewind
  int stream_count;
  plan::Slot* held;  // null: the call begins at once
};

// Recorded memory takes the place of ours, the function is called. Comes back when the function returns, into a
// process in which nothing but raw system calls works.
void RestoreAndCall(const PreparedCall& call);

// What a replay in this very process changes is put aside, and put back: tests go on after it.
void SaveLive();
void PutLiveBack();

// Recorded bytes, translated or not; false where the report has none.
bool ReadRecorded(uint64_t address, void* out, uint64_t size);

}  // namespace recrash::replay

#endif  // RECRASH_TESTGEN_REPLAY_GUEST_RESTORE_H_
