// What happened in a replay, and the verdict on it.
//
//   InstallHandlers(end_the_child);   // in the child
//   ...                               // the call; what happens is written to world.run.observed
//   const Verdict verdict = Judge(*world.run.observed, text, sizeof text);   // in the parent
#ifndef RECRASH_TESTGEN_REPLAY_GUEST_OBSERVED_H_
#define RECRASH_TESTGEN_REPLAY_GUEST_OBSERVED_H_

#include <stddef.h>
#include <stdint.h>

#include "recrash/replay.h"
#include "testgen/replay/checks/finding.h"
#include "testgen/replay/place/place_seen.h"
#include "testgen/replay/plan/plan.h"

namespace recrash::replay {

enum class Ending : uint32_t { kNone = 0, kSignal, kReturned, kReported, kTimedOut, kWaited, kExited, kKilled };

// The child writes it into memory that it shares with its parent: it may die at any moment.
struct Observed {
  volatile Ending ending;
  int32_t signal;
  int32_t code;  // si_code
  uint64_t address;
  uint64_t pc;      // live
  uint64_t own_pc;  // live; the innermost in the program or in the module of the failing place; 0: there is none
  uint32_t stack_size;
  uint64_t
      stack[plan::kMostAsked];  // live; where all its frames stand, innermost first: an instruction, return addresses
  int32_t status;               // kExited: exit status; kKilled: signal
  uint64_t overrun;             // kReturned: the heap block beyond which the call has written; 0: none
  bool terminated;              // by std::terminate, not by an abort of its own
  bool rewinding;               // a stream was being rewound: the function has not been called
  bool missed;                  // the replay is sealed, and looked for a file that may be there unsealed
  uint64_t absent_memory;       // the first page that the replay touched and the report does not have; 0: none
  char absent[256];     // the first thing that the dead process had and this replay does not: a file, a descriptor
  char not_found[256];  // the first path, recorded or not, at which the program found nothing
  char abort_message[1024];
  char exception_type[512];
  char exception_bases[1024];  // mangled names of the type's bases, a blank behind each
  char exception_what[1024];
  char reason[512];
  uint64_t block;   // that NoteBadBlock was called for
  Finding finding;  // by a sanitizer or an assertion of the C++ library
  PlaceSeen place;
  char not_given[200];  // why a value that the test gives could not be written; empty: all were
};

// Returns kReproduced for the recorded failure in the recorded place, else what happened instead, in a replay of
// `frame`. `text` gets one line for people.
Verdict Judge(const Observed& observed, const plan::Frame& frame, char* text, size_t size);

// ---- What writes it: signal handlers, and functions that stand in for the C library's ----

// Handles all failure signals. When the outcome is known, a handler calls `leave`, which ends the child or, in place,
// the call.
void InstallHandlers(void (*leave)());

// Returns whether our handler stays installed for the signal, whatever the program asks for.
bool IsFailureSignal(int signal);

// The program has reached RECRASH_REPORT: ends the replay.
void NoteReported(const char* reason);

// The program exits in place: ends the replay.
[[noreturn]] void NoteExit(int status);

// Between `true` and `false`, a failure is one of rewinding a stream, not of the call.
void NoteRewinding(bool rewinding);

// The program has done what AddressSanitizer would report, with a block that it does not know: ends the replay.
void NoteBadBlock(const char* finding, uint64_t address);

// Sets Observed::missed.
void NoteMissed();

// Sets Observed::absent, unless it is set: what the replay does not have, as "descriptor 5 (a socket)".
void NoteAbsent(const char* what);

// Sets Observed::not_found, unless it is set.
void NoteNotFound(const char* path);

// Returns whether the replay has ended: in place, the code after a handler goes on.
bool HasEnded();

}  // namespace recrash::replay

#endif  // RECRASH_TESTGEN_REPLAY_GUEST_OBSERVED_H_
