// What the parts of the client share: the state that start-up fixes, and the functions that a crash goes through.
//
//   start_up.cc        the constructor: options, paths, handlers
//   second_chance.cc   which entries are watched (watch/): those of a profile, or all; and that they are recorded
//                      (record/)
//   seal.cc            makes the state read-only, and writable again when a crash begins
//   threads.cc         a block for each thread: alternate stack, throw record
//   exceptions.cc      __cxa_throw, __cxa_begin_catch, std::terminate
//   caught_in_main.cc  exceptions that only main catches
//   crash.cc           Breakpad's HandlerCallback, and RECRASH_REPORT: fills the CrashRecord
//   choices.cc         what the program says about the memory in its reports
//   collect.cc         starts the collector and waits for it
//   raw_writer.cc      the report without a collector
//   type_info.cc       types as the C++ ABI has them
//   type_name.cc       types as people read them
#ifndef RECRASH_AGENT_CLIENT_CLIENT_H_
#define RECRASH_AGENT_CLIENT_CLIENT_H_

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/signal_safe/options.h"
#include "agent/base/signal_safe/text.h"
#include "agent/client/record/recorder.h"
#include "shadowstack/abi.h"

extern "C" __attribute__((visibility("hidden"))) char recrash_sealed_begin[], recrash_sealed_end[];  // state.ld

namespace recrash::client {

enum class Mode : uint32_t {
  kIdle = 0,  // before start-up, under AT_SECURE, or when the preloaded client does the work: hooks only pass on
  kLive = 1,
  kReplay = 2,  // RECRASH_REPLAY: the replay library owns signals and stacks; throws are still noted
};

using ThrowFunction = void (*)(void* object, void* type, void (*destructor)(void*));
using CreateFunction = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
using BeginCatchFunction = void* (*)(void* exception);
using TerminateHandler = void (*)();
using SetTerminateFunction = TerminateHandler (*)(TerminateHandler);

// Marks a variable that start-up fixes; it begins as zeros. The client's variables lie in pages of their own
// (state.ld). Those with this mark, and Breakpad's, are read-only from the end of start-up until a crash begins
// (seal.cc). So a program that overruns its own data faults at them; otherwise the crash path would find garbage.
#define RECRASH_SEALED __attribute__((section(".bss.recrash_sealed")))

// What start-up finds out. A replay restores the program's data, but not this: it must stay as the replaying process
// found it. __recrash_replay_keep tells the replay library.
struct State {
  Mode mode;
  signal_safe::Options options;
  record::Settings snapshots;
  ThrowFunction real_throw;  // these and real_create: null where start-up did not find one
  BeginCatchFunction real_begin_catch;
  SetTerminateFunction real_set_terminate;
  CreateFunction real_create;
  TerminateHandler original_terminate;  // libstdc++'s own; null while ours is not installed
  void (*preloaded_report)(const char* reason);
  void (*preloaded_keep_memory)(int keep);  // these as preloaded_report
  abi::MarkedValues* marked;                // RECRASH_SENSITIVE
  void (*preloaded_mark)(const void* value, size_t size);
  void (*preloaded_unmark)(const void* value);
  const char* abort_message;                       // address of libc's __abort_msg, or null
  void (*signal_handler)(int, siginfo_t*, void*);  // Breakpad's
  int32_t process;                                 // that started up: not its children's, of fork or vfork
  uint32_t earlier_handlers;                       // the program handled failures before the client
  uint32_t thread_key;
  uint32_t thread_key_valid;
  char options_text[512];
  char program[1024];            // /proc/self/exe
  char collector[1024];          // empty: none was found that may be run
  char collector_refused[1024];  // the first that was found and may not be run
  char directory[1024];          // where reports go
};
extern State g_state;

// Finds what has a name in the program's libraries. Not for the crash path: a miss allocates and frees.
void* LookUpAddress(void* where, const char* name);  // start_up.cc
template <typename Pointer>
Pointer LookUp(void* where, const char* name) {
  return reinterpret_cast<Pointer>(LookUpAddress(where, name));
}

// Returns the function behind a hook: the one that start-up found, or the one that the program was linked with. Else it
// is looked up, for a hook that runs before start-up, or a C program that loads C++ later.
template <typename Function>
Function Real(Function known, Function linked, const char* name) {
  if (known != nullptr) return known;
  return linked != nullptr ? linked : LookUp<Function>(RTLD_NEXT, name);
}

// start_up.cc
RECRASH_SIGNAL_SAFE const char* ProgramName();
// Absolute, because the program may change its directory before it crashes.
signal_safe::Text SetAbsolute(char (&out)[1024], const char* path);

// collect.cc: writes the line to stderr, with its end. What a terminal would obey is escaped: names and messages are
// the program's.
RECRASH_SIGNAL_SAFE void PrintLine(const signal_safe::Text& line);

// What changes after start-up.
struct Progress {
  TerminateHandler previous_terminate;  // what the program's std::terminate would call without us
  int dumpable_before;
  int32_t mark_lost;     // a value was marked without a table
  int32_t keeps_memory;  // RECRASH_KEEP_MEMORY: also where it is not dumpable
  int32_t reporting;     // thread that makes a report
  int32_t failing;       // thread that a fatal signal came to first
  int32_t failing_in;    // its process
  uint32_t reported;     // its report is made, or could not be
  char profile[1024];    // of second chance: read at start-up, and updated by the collector; empty: there is none
};
extern Progress g_progress;

// The collector is told its address.
extern abi::CrashRecord g_record;

// One for each thread, at the end of its alternate stack; made before the thread starts.
struct ThreadBlock {
  abi::ThrowRecord thrown;
  abi::ThrowRecord replaced;  // behind `thrown`, as the collector expects it
  uint64_t replaced_by;       // the object thrown last in its place
  uint64_t stack_low;         // of the thread's own stack, 0 when not known; its size, until the thread runs
  uint64_t stack_high;
  uint32_t is_main;
  uint32_t terminating;  // std::terminate was entered with `thrown`
  uint64_t mapping;
  uint64_t mapping_size;
  uint64_t alternate_stack;
  void* (*start)(void*);
  void* argument;
};

// threads.cc
RECRASH_SIGNAL_SAFE ThreadBlock* ExistingThreadBlock();
ThreadBlock* CurrentThreadBlock();  // makes one when the thread has none; null when out of memory
void InstallMainThread();

// exceptions.cc
void InstallExceptionHooks();
// The report must show the program's memory as it would be without recrash: the program's terminate handler is put back
// before the memory is read, and the client's again when the program goes on.
RECRASH_SIGNAL_SAFE void HideTerminateHook();
RECRASH_SIGNAL_SAFE void ShowTerminateHook();

// second_chance.cc
// Requires that the client is live. The profile is $RECRASH_PROFILE, a file or a folder that holds
// PROGRAM.recrash-profile; else PROGRAM.recrash-profile beside the program. An empty RECRASH_PROFILE disables profiles.
// Says on stderr which functions cannot be watched.
void StartSecondChance();

// seal.cc
void SealState();
RECRASH_SIGNAL_SAFE bool UnsealState();
RECRASH_SIGNAL_SAFE bool IsInSealedState(const void* address);

// crash.cc
void InstallCrashHandler();
// Writes a report of a process that goes on; `registers` in DWARF's order. `thrown`, the thread's block of an
// exception, or `reason` may be null.
void ReportAndGoOn(abi::FailureKind kind, const char* reason, const ThreadBlock* thrown, const uint64_t* registers);

// caught_in_main.cc
// `return_address`: of __cxa_begin_catch, in the function that catches.
void ReportIfCaughtInMain(ThreadBlock& block, void* unwind_exception, void* return_address);

// collect.cc
// Null if `path` is a collector that no other user can have put there, or put another in its place; else why not.
RECRASH_SIGNAL_SAFE const char* WhyNotToRun(const char* path);
// Lets the collector write a report of g_record, or writes the raw report if that fails, and prints a line about it.
RECRASH_SIGNAL_SAFE void MakeReport();

// choices.cc
void MapMarkedValues();
RECRASH_SIGNAL_SAFE bool HasMarkedValues();
RECRASH_SIGNAL_SAFE bool KnowsMarkedValues();  // all that were ever marked
// Masks what is about to leave the process. Where nothing is marked it does nothing.
class Discretion {
 public:
  RECRASH_SIGNAL_SAFE Discretion();  // looks up the values as they are now
  RECRASH_SIGNAL_SAFE ~Discretion();
  Discretion(const Discretion&) = delete;
  Discretion& operator=(const Discretion&) = delete;

  // Bytes around what will be written make values known that begin before it or end behind it.
  RECRASH_SIGNAL_SAFE void Mask(void* bytes, uint64_t size) const;
  // Marked places, whatever their size and content, in a copy of the memory at `address`.
  RECRASH_SIGNAL_SAFE void MaskPlaces(uint64_t address, void* bytes, uint64_t size) const;
  bool has_values() const { return slots_ != nullptr; }

 private:
  uint64_t* slots_;
  uint64_t slot_count_;
};

// raw_writer.cc
// Writes NAME.rcraw into the report folder, and its path into `path`. Returns null if the file is whole, or else what
// hindered it, to stand behind the path.
RECRASH_SIGNAL_SAFE const char* WriteRawReport(char (&path)[1024]);

// type_info.cc
// Return the mangled name, as type_info::name() does; and what() of the object if its type derives publicly from
// std::exception, else null. WhatOf calls the program's code.
const char* TypeName(const void* type);
const char* WhatOf(const void* type, void* object);

// type_name.cc
// Writes a mangled name as people read it. Knows plain classes, nested or not, and the commonest scalars; anything else
// (templates, local classes) stays mangled. The runtime's demangler allocates, which the crash path must not.
RECRASH_SIGNAL_SAFE void PutTypeName(signal_safe::Text& out, const char* mangled);

}  // namespace recrash::client

#endif  // RECRASH_AGENT_CLIENT_CLIENT_H_
