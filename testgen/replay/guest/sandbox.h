// What a replayed function may do to the world: limits, and system calls that are refused or redirected.
#ifndef RECRASH_TESTGEN_REPLAY_GUEST_SANDBOX_H_
#define RECRASH_TESTGEN_REPLAY_GUEST_SANDBOX_H_

#include <signal.h>
#include <ucontext.h>

#include "testgen/replay/plan/plan.h"
#include "testgen/replay/sandbox/filter.h"

namespace recrash::replay {

// How much address space this process has, for SetLimits; once, since each child would read it anew.
void MeasureAddressSpace();

void SetLimits();

// Descriptors for which /dev/null stands in, though the dead process could read something there. The replay is told
// apart by whether it reads there.
struct StandIns {
  WatchedDescriptors watched;
  plan::Text what[kMostWatched];
};

// Descriptors as they were (of plan::OpenFile), at their offsets: inputs that are held, files that were read; /dev/null
// for the rest.
void ReopenFiles(const plan::Array& files);

// Only calls of an allow-list (testgen/replay/sandbox), no changes to files; opening for writing gives /dev/null. Last
// before memory is restored.
void EnterSandbox();

// In the handler of SIGSYS: true when the system call was one of the sandbox's and has its result now.
bool EmulateDenied(siginfo_t* info, ucontext_t* context);

}  // namespace recrash::replay

#endif  // RECRASH_TESTGEN_REPLAY_GUEST_SANDBOX_H_
