// What the parts of the client share: its state, fixed at start-up, and the way through a crash.
//
//   start_up.cc    constructor: options, paths, handlers
//   crash.cc       Breakpad's HandlerCallback, RECRASH_REPORT: fills the CrashRecord
//   collect.cc     starts the collector and waits for it
//   raw_writer.cc  the fallback without a collector
//   threads.cc     a block of ours for each thread: alternate stack, throw record
//   caught_in_main.cc  exceptions that only main catches
//   exceptions.cc  __cxa_throw, __cxa_begin_catch, std::terminate
#ifndef RECRASH_AGENT_CLIENT_CLIENT_H_
#define RECRASH_AGENT_CLIENT_CLIENT_H_

#include <stddef.h>
#include <stdint.h>

#include "shadowstack/abi.h"

namespace recrash::client {

enum class Mode : uint32_t {
  kIdle = 0,  // before start-up, under AT_SECURE, or when the preloaded client does the work: hooks only pass on
  kLive = 1,
  kReplay = 2,  // RECRASH_REPLAY: the replay library owns signals and stacks; throws are still noted
};

struct Options {
  uint32_t timeout_seconds = 30;
  uint32_t memory_mib = 64;
  uint32_t throw_stack = 32 << 10;  // bytes; 0: no copy
  uint32_t exceptions_main = 0;
};

using ThrowFunction = void (*)(void* object, void* type, void (*destructor)(void*));
using BeginCatchFunction = void* (*)(void* exception);
using TerminateHandler = void (*)();
using SetTerminateFunction = TerminateHandler (*)(TerminateHandler);

// Everything that the client remembers. A replay restores the program's data as recorded, and with it would undo what
// the client found out in the replaying process; so the state lies in a section of its own, `recrash_state`, whose
// range is told to the replay library (__recrash_replay_keep) and left alone by it.
struct State {
  Mode mode;
  Options options;
  ThrowFunction real_throw;
  BeginCatchFunction real_begin_catch;
  SetTerminateFunction real_set_terminate;
  TerminateHandler previous_terminate;  // what the program's std::terminate would call without us
  TerminateHandler original_terminate;  // libstdc++'s own; null while ours is not installed
  void (*preloaded_report)(const char* reason);
  const char* abort_message;  // address of libc's __abort_msg, or null
  int dumpable_before;
  uint32_t reporting;  // 1 while a report is being made
  uint32_t dying;      // a fatal signal has been reported
  uint32_t thread_key;
  uint32_t thread_key_valid;
  char options_text[512];
  char program[1024];    // /proc/self/exe
  char collector[1024];  // empty: none was found
  char directory[1024];  // where reports go
};
extern State g_state;

// In .bss: its address is what the collector is told.
extern abi::CrashRecord g_record;

// One for each thread, below the alternate stack's top; made before the thread starts.
struct ThreadBlock {
  abi::ThrowRecord thrown;
  uint64_t stack_low;  // of the thread's own stack; 0 when not known
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
// The recorded memory should show the program as it would be without us: its own terminate handler is put back before
// the memory is read, and ours again when the program goes on.
RECRASH_SIGNAL_SAFE void HideTerminateHook();
RECRASH_SIGNAL_SAFE void ShowTerminateHook();

// crash.cc
void InstallCrashHandler();
// Writes a report of a process that goes on; `registers` in DWARF's order, `thrown` or `reason` may be null.
void ReportAndGoOn(abi::FailureKind kind, const char* reason, const abi::ThrowRecord* thrown,
                   const uint64_t* registers);

// caught_in_main.cc
// `return_address`: of __cxa_begin_catch, in the function that catches.
void ReportIfCaughtInMain(ThreadBlock& block, void* unwind_exception, void* return_address);

// collect.cc
// Lets the collector write a report of g_record and prints the line that says so; the raw fallback where it cannot.
RECRASH_SIGNAL_SAFE void MakeReport();
RECRASH_SIGNAL_SAFE uint64_t MonotonicNs();

// raw_writer.cc
// Writes NAME.rcraw into the report folder; true when the file is whole. `path` gets its name.
RECRASH_SIGNAL_SAFE bool WriteRawReport(char (&path)[1024]);
// Makes the report folder and what leads to it, mode 0700.
RECRASH_SIGNAL_SAFE void MakeDirectories(const char* path);
// NAME's beginning: program, UTC time, pid, no suffix. Only letters, digits, `-`, `_`, `.`, `+` of the program survive.
RECRASH_SIGNAL_SAFE void ReportName(char (&path)[1024], const char* suffix);

}  // namespace recrash::client

#endif  // RECRASH_AGENT_CLIENT_CLIENT_H_
