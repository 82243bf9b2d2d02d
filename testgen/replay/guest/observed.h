// What a replay saw happen, and the judgement on it.
#ifndef RECRASH_TESTGEN_REPLAY_GUEST_OBSERVED_H_
#define RECRASH_TESTGEN_REPLAY_GUEST_OBSERVED_H_

#include <stddef.h>
#include <stdint.h>

#include "recrash/replay.h"

namespace recrash::replay {

enum class Ending : uint32_t { kNone = 0, kSignal, kReturned, kReported, kTimedOut, kExited, kKilled };

// Written by the child, which may die at any moment, into memory that it shares with its parent.
struct Observed {
  volatile Ending ending;
  int32_t signal;
  uint64_t address;
  uint64_t pc;      // live
  uint64_t own_pc;  // live; innermost in the program or in the module of the failing place; 0 when there was none
  int32_t status;   // kExited: exit status; kKilled: signal
  bool terminated;  // by std::terminate, not by an abort of its own
  bool rewinding;   // a stream was being rewound: the function has not been called
  bool missed;      // sealed, and it looked for something that may be there when it is not
  char abort_message[1024];
  char exception_type[512];
  char exception_what[1024];
  char reason[512];
};

// The recorded failure in the recorded place, or what instead; `text` gets one line.
Verdict Judge(const Observed& observed, char* text, size_t size);

// ---- Signal handlers of a replay: they write down what happened and end the child ----

// `leave` is called when the outcome is known: ends the child, or goes back into the call in process.
void InstallHandlers(void (*leave)());

// RECRASH_REPORT was reached.
void NoteReported(const char* reason);

// The program ends itself, in place.
[[noreturn]] void NoteExit(int status);

bool IsFailureSignal(int signal);

// While it is true, an ending is one of rewinding a stream, not of the call.
void NoteRewinding(bool rewinding);

// A sealed replay did not find something that may be there otherwise.
void NoteMissed();

// In process a handler comes back: has the replay ended?
bool HasEnded();

}  // namespace recrash::replay

#endif  // RECRASH_TESTGEN_REPLAY_GUEST_OBSERVED_H_
