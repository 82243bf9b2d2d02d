// Signal handlers of a replay: they write down what happened and end the child.
#ifndef RECRASH_TESTGEN_REPLAY_GUEST_HANDLER_H_
#define RECRASH_TESTGEN_REPLAY_GUEST_HANDLER_H_

#include "testgen/replay/guest/observed.h"

namespace recrash::replay {

// `leave` is called when the outcome is known: ends the child, or goes back into the call in process.
void InstallHandlers(void (*leave)());

// RECRASH_REPORT was reached.
void NoteReported(const char* reason);

// The program ends itself, in place.
[[noreturn]] void NoteExit(int status);

bool IsFailureSignal(int signal);

// From here on (or no longer) an ending is one of rewinding a stream.
void NoteRewinding(bool rewinding);

// A sealed replay did not find something that may be there otherwise.
void NoteMissed();

// In process a handler comes back: has the replay ended?
bool HasEnded();

}  // namespace recrash::replay

#endif  // RECRASH_TESTGEN_REPLAY_GUEST_HANDLER_H_
