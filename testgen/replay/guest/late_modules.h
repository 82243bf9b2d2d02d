// Modules that the dead process loaded only after a frame's entry.
//
// The subject loads them before any replay. In a replay from that entry they keep their first data, and are initialised
// when the program opens them.
#ifndef RECRASH_TESTGEN_REPLAY_GUEST_LATE_MODULES_H_
#define RECRASH_TESTGEN_REPLAY_GUEST_LATE_MODULES_H_

#include "testgen/replay/guest/modules.h"
#include "testgen/replay/plan/plan.h"

namespace recrash::replay {

constexpr int kMostLate = 64;

struct LateModules {
  const LiveModule* waiting[kMostLate];
  int count;
  char name[1];  // with which their initialisers are called
  char* arguments[2];
};

// Was `module` loaded only after the entry of `state`? Not where there is no state (null).
bool IsLate(const plan::EntryState* state, const plan::Module* module);

// In the child, before the call: the late modules of `state` wait for being opened.
void AwaitLateModules(const plan::EntryState* state);

// Runs the initialisers of the library that a handle of dlopen stands for, and of those that it needs, where they still
// wait.
void InitialiseLate(void* handle);
bool AnyLate();

}  // namespace recrash::replay

#endif  // RECRASH_TESTGEN_REPLAY_GUEST_LATE_MODULES_H_
