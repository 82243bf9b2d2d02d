// Functions of the C library that the subject calls through us.
#ifndef RECRASH_TESTGEN_REPLAY_GUEST_INTERPOSE_H_
#define RECRASH_TESTGEN_REPLAY_GUEST_INTERPOSE_H_

#include <signal.h>

namespace recrash::replay {

// Resolves the real ones; before memory is restored.
void FindInterposed();
void FindInterposedFiles();

// sigaction of the C library, past our own.
void InstallRealAction(int signal, const struct sigaction* action);

}  // namespace recrash::replay

#endif  // RECRASH_TESTGEN_REPLAY_GUEST_INTERPOSE_H_
