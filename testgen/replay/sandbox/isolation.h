// What the kernel keeps a replay from beside its system calls: files by Landlock, networks and shared memory of others
// by namespaces, memory and processor by limits.
#ifndef RECRASH_TESTGEN_REPLAY_SANDBOX_ISOLATION_H_
#define RECRASH_TESTGEN_REPLAY_SANDBOX_ISOLATION_H_

namespace recrash::replay {

// Once, in the subject, before its replays: a network and System V objects of its own. Returns whether that is allowed
// here.
bool LeaveNamespaces();

// In the process of a replay; privileges cannot be gained any more (PR_SET_NO_NEW_PRIVS). No file can be changed, made
// or removed, no process outside signalled or traced, no abstract socket of others reached. Returns whether the kernel
// has Landlock; where it has not, nothing happens.
bool RestrictFiles();

}  // namespace recrash::replay

#endif  // RECRASH_TESTGEN_REPLAY_SANDBOX_ISOLATION_H_
