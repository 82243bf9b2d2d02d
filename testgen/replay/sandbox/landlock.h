// What the kernel's Landlock keeps a replay from, whatever its system calls are.
#ifndef RECRASH_TESTGEN_REPLAY_SANDBOX_LANDLOCK_H_
#define RECRASH_TESTGEN_REPLAY_SANDBOX_LANDLOCK_H_

namespace recrash::replay {

// In the process of a replay; privileges cannot be gained any more (PR_SET_NO_NEW_PRIVS). No file can be changed, made
// or removed, no process outside signalled or traced, no abstract socket of others reached. Returns whether the kernel
// has Landlock; where it has not, nothing happens.
bool RestrictFiles();

}  // namespace recrash::replay

#endif  // RECRASH_TESTGEN_REPLAY_SANDBOX_LANDLOCK_H_
