// The C++ runtime of the subject, if it has one: looked up once, used without linking to it.
#ifndef RECRASH_TESTGEN_REPLAY_GUEST_RUNTIME_H_
#define RECRASH_TESTGEN_REPLAY_GUEST_RUNTIME_H_

#include <stddef.h>
#include <stdint.h>
#include <unwind.h>

#include "testgen/replay/guest/call.h"
#include "testgen/replay/guest/modules.h"
#include "testgen/replay/guest/observed.h"

namespace recrash::replay {

// Itanium C++ ABI: what __cxa_get_globals gives.
struct ExceptionGlobals {
  uint64_t caught;  // __cxa_exception*
  uint32_t uncaught_count;
};

constexpr int kMostToolRanges = 1024;

// Null where the subject does not have it.
struct Runtime {
  ExceptionGlobals* (*get_globals)();
  void* (*current_type)();
  _Unwind_Reason_Code (*backtrace)(_Unwind_Reason_Code (*)(_Unwind_Context*, void*), void*);
  _Unwind_Ptr (*get_ip)(_Unwind_Context*);
  void* (*enclosing_function)(void*);
  const void* terminate;
  char* (*demangle)(const char*, char*, size_t*, int*);
  const void* exception_type_info;
  const char* volatile* abort_message_slot;  // glibc's __abort_msg; points at { unsigned size; char text[] }
  const LiveModule* program;
  const LiveModule* place_module;      // in which the failing place lies
  Range tool_ranges[kMostToolRanges];  // the agent's code in the program: no place of a failure
  int tool_range_count;
};

// Before memory is restored: needs dlsym.
void FindRuntime();

// A function or object of the C++ runtime: the program's own copy first, since with -static-libstdc++ another one may
// come in with the test library. Needs dlsym.
void* FindInRuntime(const char* name);

// In the child, with recorded memory back: the exception that is the failure itself must not count as being handled.
void RestoreExceptionState();

// In the signal handler of a SIGABRT: type and what() of the exception that std::terminate was called for.
void ReadException(Observed* observed);

// The innermost code address in the program or in the module of the failing place, by unwinding from here; the first
// frame that is looked at is the one that `pc` lies in. `terminated`: std::terminate is on the way there.
uint64_t FindOwnCode(uint64_t pc, uint64_t sp, bool* terminated);

void DemangleType(const char* mangled, char* out, size_t size);

// ---- Streams that a function is handed, put back to their beginning before it is called ----
//
// At the crash a stream has been read, often to its end, and a parser that is called again finds nothing. Where it
// stood on entry is not known; most functions are handed streams that nobody has read from yet.

constexpr int kMostStreams = 8;

// Of the subject's runtime; null where it has them not.
struct StreamFunctions {
  void (*clear)(uint64_t ios, int state);                        // std::ios::clear
  void* (*seek_from)(uint64_t stream, long offset, int origin);  // std::istream::seekg
  void (*rewind_file)(uint64_t file);
};

struct StreamPlace {
  uint64_t address;  // of the std::istream or FILE itself
  uint32_t kind;     // StreamKind of report.h
};

// Before memory is restored: needs dlsym.
void FindStreamFunctions();

// Does the subject have the functions for it?
bool CanRewind(uint32_t kind);

// With recorded memory back, on this process's own stack: what lies below the frame on the recorded one is the state in
// which the function will be called. False when that ended the replay (in process; a child does not come back).
bool RewindStreams(const StreamPlace* streams, int count, const CallState& call);

}  // namespace recrash::replay

#endif  // RECRASH_TESTGEN_REPLAY_GUEST_RUNTIME_H_
