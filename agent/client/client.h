// What the parts of the client share: the state that start-up fixes, and the functions that a crash goes through.
//
//   start_up.cc        the constructor: options, paths, handlers
//   modules.cc         which module the client lies in; other clients in the process
//   second_chance.cc   which entries are watched (watch/): those of a profile, or all; and that they are recorded
//                      (record/)
//   seal.cc            makes the state read-only, and writable again when a crash begins
//   threads.cc         a block for each thread: alternate stack, throw record
//   exceptions.cc      __cxa_throw, __cxa_begin_catch, std::terminate
//   caught_in_main.cc  exceptions that only main catches
//   handlers.cc        handlers that the program installs
//   crash.cc           Breakpad's HandlerCallback, and RECRASH_REPORT: fills the CrashRecord
//   watchdog.cc        hangs
//   choices.cc         what the program says about the memory in its reports
//   additions.cc       what the program adds to them: notes, files
//   before_report.cc   asks the program before a report is made
//   aside.cc           the process in which the report is made
//   collect.cc         starts the collector and waits for it
//   folders.cc         where reports go
//   hold_threads.cc    stops the other threads where there is no collector
//   collector_file.cc  a collector that is part of the program
//   line.cc            the line on stderr
//   raw_writer.cc      the report without a collector; address_space/: what is mapped, without /proc
//   type_info.cc       types as the C++ ABI has them
//   type_name.cc       types as people read them
#ifndef RECRASH_AGENT_CLIENT_CLIENT_H_
#define RECRASH_AGENT_CLIENT_CLIENT_H_

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#include "agent/base/signal_safe/options.h"
#include "agent/base/signal_safe/text.h"
#include "agent/client/address_space/segments.h"
#include "agent/client/record/recorder.h"
#include "recrash/failure.h"
#include "shadowstack/abi.h"
#include "shadowstack/additions.h"
#include "shadowstack/client_table.h"
#include "shadowstack/raw_format.h"

extern "C" __attribute__((visibility("hidden"))) char recrash_sealed_begin[], recrash_sealed_end[];  // state.ld

// What recrash.h declares, defined here.
extern "C" {
void __recrash_report(const char* reason);
void __recrash_profiles(const char* folder);
void __recrash_alive();
void __recrash_keep_memory(int keep);
void __recrash_mark(const void* value, size_t size);
void __recrash_unmark(const void* value);
void __recrash_note(const char* key, const char* value);
void __recrash_file(const char* path, int what);
void __recrash_before_report(recrash_before_report function, void* data, unsigned seconds);
}

namespace recrash::client {

enum class Mode : uint32_t {
  kIdle = 0,  // before start-up, under AT_SECURE, or when another client does the work: hooks only pass on
  kLive = 1,
  kReplay = 2,  // RECRASH_REPLAY: the replay library owns signals and stacks; throws are still noted
};

using ThrowFunction = void (*)(void* object, void* type, void (*destructor)(void*));
using CreateFunction = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
using ExitFunction = void (*)(int);
using SigactionFunction = int (*)(int, const struct sigaction*, struct sigaction*);
using SignalFunction = sighandler_t (*)(int, sighandler_t);
using BeginCatchFunction = void* (*)(void* exception);
using TerminateHandler = void (*)();
using SetTerminateFunction = TerminateHandler (*)(TerminateHandler);

// Marks a variable that start-up fixes; it begins as zeros. The client's variables lie in pages of their own
// (state.ld). Those with this mark, and Breakpad's, are read-only from the end of start-up until a crash begins
// (seal.cc). So a program that overruns its own data faults at them; otherwise the crash path would find garbage.
#define RECRASH_SEALED __attribute__((section(".bss.recrash_sealed")))

struct CodeSpan {
  uint64_t begin, end;
};

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
  ExitFunction real_exit;
  // In a replay: the replay library's, which stand behind the client's. Null where there is none.
  SigactionFunction replay_sigaction;
  SignalFunction replay_signal;
  ExitFunction replay_exit_now;
  TerminateHandler original_terminate;             // libstdc++'s own; null while ours is not installed
  const abi::ClientTable* other;                   // the client that does the work; null: this one does, or none
  CodeSpan own_code;                               // of the library that the client lies in; empty in the program
  abi::MarkedValues* marked;                       // RECRASH_SENSITIVE
  abi::Additions* additions;                       // RECRASH_NOTE, RECRASH_ATTACH
  const char* abort_message;                       // address of libc's __abort_msg, or null
  void (*signal_handler)(int, siginfo_t*, void*);  // Breakpad's
  int32_t process;                                 // that started up: not its children's, of fork or vfork
  uint32_t earlier_handlers;                       // the program handled failures before the client
  uint32_t thread_key;
  uint32_t thread_key_valid;
  char options_text[512];
  LoadedAt loaded;
  const uint32_t* thread_count;  // libc's own; null: not known
  uint64_t main_stack;           // an address in it
  char** arguments;              // main's
  char program[1024];            // /proc/self/exe, or how it was started
  uint32_t collector_within;     // the one that is part of the program
  char beside[1024];             // folder of that library
  char collector[1024];          // empty: none was found that may be run
  char collector_refused[1024];  // the first that was found and may not be run
  char folders[4][1024];         // where reports go: the first that can be written to
  uint32_t folder_count;
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

// line.cc: writes the line to stderr, with its end. What a terminal would obey is escaped: names and messages are
// the program's.
RECRASH_SIGNAL_SAFE void PrintLine(const signal_safe::Text& line);

constexpr uint32_t kMostServed = 64;

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
  uint32_t served_count;
  CodeSpan served[kMostServed];  // code of libraries that this client, in one of them, reports
  char profile[1024];  // of second chance: read at start-up, and updated by the collector; empty: there is none
};
extern Progress g_progress;

// The collector is told its address.
extern abi::CrashRecord g_record;

// A failure for which a handler of the program's was called. It lies in the frame that called the handler.
constexpr uint64_t kLiveFault = 0x746c756166657672;
struct Fault {
  uint64_t magic;  // kLiveFault until the handler has returned
  const siginfo_t* info;
  const ucontext_t* context;
  const Fault* outer;  // in whose handler this one happened
  int flags;           // of the handler
};

// One for each thread, at the end of its alternate stack; made before the thread starts.
struct ThreadBlock {
  abi::ThrowRecord thrown;
  abi::ThrowRecord replaced;  // behind `thrown`, as the collector expects it
  uint64_t replaced_by;       // the object thrown last in its place
  uint64_t stack_low;         // of the thread's own stack, 0 when not known; its size, until the thread runs
  uint64_t stack_high;
  uint32_t is_main;
  const Fault* fault;  // whose handler runs, or has jumped away
  uint64_t blocked;    // failures that the program believes to block
  siginfo_t passed;    // of a failure whose handler has raised its signal again; its place
  uint64_t passed_pc;
  uint64_t passed_sp;
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

// modules.cc
// Finds out in which module the client lies; the preloaded one is everybody's. Returns true if another client does the
// work already.
bool FindOtherClient(bool preloaded);
void BecomeLive();  // for those that come later
// Always true of the program's own client. Of one in a library: it failed in the library's code, or below.
RECRASH_SIGNAL_SAFE bool ConcernsServedCode();

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

// handlers.cc
int RealSigaction(int number, const struct sigaction* action, struct sigaction* before);
void UnblockFailures();
// The program has a handler for the signal, which may go on.
RECRASH_SIGNAL_SAFE bool IsHandledByProgram(int number);
// A signal that somebody has sent, and that the program believes to block: blocks it and sends it again, and returns
// true.
RECRASH_SIGNAL_SAFE bool HoldBackIfBlocked(int number, const siginfo_t& info, ucontext_t& interrupted);
// The flag AC makes unaligned accesses fail, and stays when a handler is called.
RECRASH_SIGNAL_SAFE inline void AllowUnaligned() {
  asm volatile("pushfq\n andl $~0x40000, (%%rsp)\n popfq" : : : "cc", "memory");
}
// The failure in whose handler this thread is, its outermost; null if it is in none. `number`: the signal that came, 0
// if none did; of an instruction's failure whose handler aborts the desk finds the place itself. `sp`: of the thread.
RECRASH_SIGNAL_SAFE const Fault* FaultBeingHandled(uint64_t sp, int number);

// crash.cc
void InstallCrashHandler();
RECRASH_SIGNAL_SAFE struct sigaction ClientAction();  // the client's handler
// Reports a failure for which a handler of the program's was called, and which ends the program all the same.
RECRASH_SIGNAL_SAFE void ReportHandled(const siginfo_t& info, const ucontext_t& context);
// Writes a report of a process that goes on; `registers` in DWARF's order. `thrown`, the thread's block of an
// exception, or `reason` may be null.
void ReportAndGoOn(abi::FailureKind kind, const char* reason, const ThreadBlock* thrown, const uint64_t* registers);

// watchdog.cc
constexpr int kWatchdogSignal = SIGSTKFLT;
void StartWatchdog();

// caught_in_main.cc
// `return_address`: of __cxa_begin_catch, in the function that catches.
void ReportIfCaughtInMain(ThreadBlock& block, void* unwind_exception, void* return_address);

// aside.cc
enum class AsideEnd { kDone, kNotStarted, kDied, kTimedOut };
// Returns the new process, or a negative errno. There the function runs on that stack, and what it returns is the
// status.
RECRASH_SIGNAL_SAFE long CloneOnto(char* stack_end, uint64_t flags, int (*function)(void*), void* argument);
// Runs `work` in a process of its own that shares this one's memory, until it ends or the time is over.
RECRASH_SIGNAL_SAFE AsideEnd RunAside(void (*work)(), uint64_t deadline);
// In this process, where no other can be started.
RECRASH_SIGNAL_SAFE void RunHere(void (*work)());

// collector_file.cc
RECRASH_SIGNAL_SAFE bool HasCollectorWithin();  // the program itself holds one
RECRASH_SIGNAL_SAFE int CollectorInMemory();    // a descriptor; negative where there can be none
RECRASH_SIGNAL_SAFE bool PutCollectorInto(const char* folder, char (&path)[1024]);

// collect.cc
// What became of the report that is being made; the process aside fills it.
enum class Outcome { kWritten, kMissing, kRefused, kNotStarted, kFailed, kTimedOut };
struct Made {
  uint64_t deadline;
  uint64_t collector_deadline;
  AsideEnd aside;
  const char* folder;
  bool is_done;            // what follows is known
  Outcome outcome;         // of the collector
  int status;              // with which it ended
  int error;               // why it was not started
  const char* refused;     // its path, where it may not be run
  const char* raw_failed;  // null: the raw report is whole
  char raw_path[1024];
};
extern Made g_made;
// Null if `path` is a collector that no other user can have put there, or put another in its place; else why not.
RECRASH_SIGNAL_SAFE const char* WhyNotToRun(const char* path);
// Lets the collector write a report of g_record, or writes the raw report if that fails, and prints a line about it.
RECRASH_SIGNAL_SAFE void MakeReport();

// line.cc
RECRASH_SIGNAL_SAFE void SayWhatWasMade();
// REQUIRES: its outcome is known, and is not kWritten.
RECRASH_SIGNAL_SAFE void SayWhyNoCollector(signal_safe::Text& line);

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
  // What it looks them up in: the values in parts.
  uint64_t table() const { return reinterpret_cast<uint64_t>(slots_); }
  uint64_t table_size() const { return slot_count_ * sizeof *slots_; }

 private:
  uint64_t* slots_;
  uint64_t slot_count_;
};

// folders.cc
void FindReportFolders();
// Makes it. If there is none to write to, the first.
RECRASH_SIGNAL_SAFE const char* ReportFolder();
// Makes and opens it; negative where it must not or cannot be written to, and `why` says which.
RECRASH_SIGNAL_SAFE int OpenReportFolder(const char* path, const char*& why);

// hold_threads.cc
struct HeldThread {
  int32_t id;  // 0: its handler has only begun
  uint64_t fs_base;
  const ucontext_t* context;
};
constexpr uint32_t kMostHeld = 4096;
// REQUIRES: the program ends. To be called in the program; the rest in the process aside.
RECRASH_SIGNAL_SAFE void PrepareToHold();
RECRASH_SIGNAL_SAFE void FindOtherThreads();  // before the others
RECRASH_SIGNAL_SAFE bool MayHaveMoreThreads();
RECRASH_SIGNAL_SAFE void HoldOtherThreads();
RECRASH_SIGNAL_SAFE void ReleaseThreads();
RECRASH_SIGNAL_SAFE uint32_t HeldCount();
RECRASH_SIGNAL_SAFE const HeldThread& HeldAt(uint32_t index);
RECRASH_SIGNAL_SAFE uint32_t OthersNotHeld();  // of those that are known

// before_report.cc
// Calls function(argument) on another stack. Where a signal ends the call, `saved_sp` and RecrashAfterCall lead behind
// it.
extern "C" uint64_t RecrashCallOnStack(uint64_t stack_end, uint64_t (*function)(void*), void* argument,
                                       uint64_t* saved_sp);
// Asks the program, if it wants to be asked, whether a report of g_record may be made.
RECRASH_SIGNAL_SAFE bool MayReport();
RECRASH_SIGNAL_SAFE uint32_t BeforeReportSeconds();  // that it may take

// additions.cc
void MapAdditions();
// Copies what is complete in a slot. REQUIRES: there is a table.
RECRASH_SIGNAL_SAFE bool ReadAddition(uint32_t slot, abi::Addition& addition);
// For the raw report. REQUIRES: it is known what has to be masked.
using PutBlockFunction = void (*)(void* out, raw::BlockKind kind, const void* bytes, uint64_t size);
RECRASH_SIGNAL_SAFE void PutAdditions(PutBlockFunction put, void* out);
RECRASH_SIGNAL_SAFE void PutNamedFiles(PutBlockFunction put, void* out);

// raw_writer.cc
RECRASH_SIGNAL_SAFE uint32_t RandomNumber();  // that nobody can tell before
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
