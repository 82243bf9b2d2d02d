// Modules that the dead process loaded only after a frame's entry.
//
// The subject loads all modules before any replay. In a replay from such an entry, a late module keeps the data that it
// had when it was loaded. Its initialisers run when the program opens it by dlopen.
#ifndef RECRASH_TESTGEN_REPLAY_GUEST_LATE_MODULES_H_
#define RECRASH_TESTGEN_REPLAY_GUEST_LATE_MODULES_H_

#include "testgen/replay/guest/modules.h"
#include "testgen/replay/plan/plan.h"

namespace recrash::replay {

constexpr int kMostLate = 64;

struct LateModules {
  const LiveModule* waiting[kMostLate];
  int count;
  char name[1];        // argv[0] for their initialisers
  char* arguments[2];  // argv
};

// Returns whether `module` was loaded only after the entry of `state`; false if `state` is null.
bool IsLate(const plan::EntryState* state, const plan::Module* module);

// From now on the late modules of `state` wait until they are opened. Call it before the frame's function.
void AwaitLateModules(const plan::EntryState* state);

// Runs the initialisers of the library behind a handle of dlopen, and of those that it needs, if they still wait.
void InitialiseLate(void* handle);
// Returns whether the entry state of this replay has late modules.
bool AnyLate();

}  // namespace recrash::replay

#endif  // RECRASH_TESTGEN_REPLAY_GUEST_LATE_MODULES_H_
