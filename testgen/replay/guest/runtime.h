// The C++ runtime of the subject, if it has one. Its functions are looked up once: this library does not link to it.
#ifndef RECRASH_TESTGEN_REPLAY_GUEST_RUNTIME_H_
#define RECRASH_TESTGEN_REPLAY_GUEST_RUNTIME_H_

#include <stddef.h>
#include <stdint.h>
#include <unwind.h>

#include "testgen/replay/guest/call.h"
#include "testgen/replay/guest/modules.h"
#include "testgen/replay/guest/observed.h"
#include "testgen/replay/heap/spare_heap.h"

namespace recrash::replay {

// Itanium C++ ABI: what __cxa_get_globals gives.
struct ExceptionGlobals {
  uint64_t caught;  // __cxa_exception*
  uint32_t uncaught_count;
};

constexpr int kMostToolRanges = 1024;

// A pointer is null if the subject does not have the function or object.
struct Runtime {
  ExceptionGlobals* (*get_globals)();
  void* (*current_type)();
  _Unwind_Reason_Code (*backtrace)(_Unwind_Reason_Code (*)(_Unwind_Context*, void*), void*);
  _Unwind_Ptr (*get_ip)(_Unwind_Context*);
  void* (*enclosing_function)(void*);
  const void* terminate;
  char* (*demangle)(const char*, char*, size_t*, int*);
  const void* exception_type_info;
  const void* one_base;                         // what the vtable pointer of a __si_class_type_info is
  const void* many_bases;                       // and of a __vmi_class_type_info
  const char* volatile* abort_message_slot;     // glibc's __abort_msg; points at { unsigned size; char text[] }
  uint64_t heap_functions[kHeapFunctionCount];  // of the C library
  bool has_usual_heap;                          // the subject's allocator is that of the C library
  const LiveModule* program;
  const LiveModule* place_module;      // in which the failing place lies
  Range tool_ranges[kMostToolRanges];  // the agent's code in the program: no place of a failure
  int tool_range_count;
};

// Fills world.runtime. REQUIRES, here and for FindInRuntime: recorded memory is not back yet, since they use dlsym.
void FindRuntime();

// Returns a function or object of the C++ runtime, or null. The program's own copy comes first: if the program is
// linked with -static-libstdc++, another copy may come in with the test library.
void* FindInRuntime(const char* name);

// Takes the exception that is the failure off the stack of caught exceptions. REQUIRES: recorded memory is back.
void RestoreExceptionState();

// Notes type, base classes and what() of the exception for which std::terminate was called. REQUIRES: it runs in the
// handler of a SIGABRT.
void ReadException(Observed* observed);

// Notes the stack from `pc` outwards, the innermost code address in the program or in the module of the failing place,
// and whether std::terminate is on the way there. It unwinds from here; frames inside the one that `pc` lies in do not
// count.
void FindOwnCode(uint64_t pc, uint64_t sp, Observed* observed);

// Writes a type's name as people know it; `mangled` itself where that cannot be found out.
void DemangleType(const char* mangled, char* out, size_t size);

// ---- Streams that a function is handed, put back to their beginning before it is called ----
//
// At the crash a stream has been read, often to its end: a parser that is called again finds nothing. Where the stream
// stood at the entry is not known. Most functions are handed streams that nobody has read from yet.

constexpr int kMostStreams = 8;

// Of the subject's runtime. A pointer is null if the subject does not have the function.
struct StreamFunctions {
  void (*clear)(uint64_t ios, int state);                        // std::ios::clear
  void* (*seek_from)(uint64_t stream, long offset, int origin);  // std::istream::seekg
  void (*rewind_file)(uint64_t file);
};

struct StreamPlace {
  uint64_t address;  // of the std::istream or FILE itself
  uint32_t kind;     // StreamKind of report.h
};

// Fills world.streams. REQUIRES: recorded memory is not back yet.
void FindStreamFunctions();

// Returns whether the subject has the functions to rewind such a stream.
bool CanRewind(uint32_t kind);

// Rewinds the streams. Returns false if that has ended the replay in place; a child does not return then.
// REQUIRES: recorded memory is back, and this runs on the process's own stack. On the recorded stack, what lies below
// the frame is part of the state in which its function will be called.
bool RewindStreams(const StreamPlace* streams, int count, const CallState& call);

}  // namespace recrash::replay

#endif  // RECRASH_TESTGEN_REPLAY_GUEST_RUNTIME_H_
