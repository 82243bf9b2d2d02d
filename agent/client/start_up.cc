// Runs before main: decides whether the client works at all, finds everything that a crash must not look for (options,
// paths, the real functions behind the hooks), and installs the handlers.
//
// It is the earliest constructor of the program, so that static initialisers are watched, too. It allocates nothing on
// the program's heap (in a C program: nothing that stays), and leaves no message for the program's dlerror().
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "agent/base/signal_safe/text.h"
#include "agent/client/client.h"

// abi::kCollectorPlace; not there in a program in which nothing is instrumented.
extern "C" __attribute__((weak, visibility("hidden"))) const char __recrash_collector_place[];

#ifndef RECRASH_COLLECTOR_DIRECTORY
#error "the build must say where recrash-collector is installed"
#endif

namespace recrash::client {

using signal_safe::BaseName;
using signal_safe::CopyText;
using signal_safe::ParseOptions;
using signal_safe::Text;

RECRASH_SEALED State g_state;

#ifdef RECRASH_PRELOAD
constexpr bool kPreloaded = true;
#else
constexpr bool kPreloaded = false;
#endif

// dlsym keeps the message of a miss for the next dlerror(), and the program would get it after a call that went well.
// The first dlerror() returns the message, the second frees it.
void* LookUpAddress(void* where, const char* name) {
  void* found = dlsym(where, name);
  if (found == nullptr) {
    dlerror();
    dlerror();
  }
  return found;
}

const char* ProgramName() { return BaseName(g_state.program); }

Text SetAbsolute(char (&out)[1024], const char* path) {
  Text text(out);
  char directory[1024];
  if (path[0] != '/' && getcwd(directory, sizeof directory) != nullptr) text << directory << "/";
  return text << path;
}

namespace {

bool Executable(const char* path) { return path[0] == '/' && access(path, X_OK) == 0; }

void TellNotUnderstood(const char* option) {
  char line[512];
  Text message(line);
  message << "recrash: RECRASH_OPTIONS: not understood and ignored from \"" << option << "\" on; options are";
  for (const signal_safe::OptionRow& row : signal_safe::kOptions) message << " " << row.name;
  PrintLine(message);
}

// True if `path` can be run, and nobody else can have put it there; the first that somebody can is remembered.
bool MayRun(const char* path) {
  if (!Executable(path)) return false;
  if (WhyNotToRun(path) == nullptr) return true;
  if (g_state.collector_refused[0] == 0) CopyText(g_state.collector_refused, path);
  return false;
}

// Named by who starts the program; else part of the program; else beside the library of this client, or the program,
// where it is shipped; else where recrash was installed when it built the program, or, of a program in which nothing is
// instrumented, where recrash was to be installed.
void FindCollector() {
  char(&out)[1024] = g_state.collector;
  if (const char* given = getenv("RECRASH_COLLECTOR"); given != nullptr && *given != 0) {
    SetAbsolute(out, given);
    if (!MayRun(out)) out[0] = 0;  // asked for by name: no other one instead
    return;
  }
  if (HasCollectorWithin()) {
    g_state.collector_within = 1;
    return;
  }
  char beside[1024];
  CopyText(beside, g_state.program);
  if (char* slash = strrchr(beside, '/'); slash != nullptr) *slash = 0;
  for (const char* folder : {static_cast<const char*>(g_state.beside), static_cast<const char*>(beside)}) {
    Text(out) << folder << "/recrash-collector";
    if (folder[0] != 0 && MayRun(out)) return;
  }
  CopyText(out, __recrash_collector_place != nullptr ? __recrash_collector_place
                                                     : RECRASH_COLLECTOR_DIRECTORY "/recrash-collector");
  if (!MayRun(out)) out[0] = 0;
}

// Tells the replay library, if it is there, which memory it must leave as this process made it, and what it must seal
// once the memory is as recorded.
void JoinReplay() {
  using Told = void (*)(void* start, size_t size);
  if (auto keep = LookUp<Told>(RTLD_DEFAULT, "__recrash_replay_keep")) keep(&g_state, sizeof g_state);
  if (auto seal = LookUp<Told>(RTLD_DEFAULT, "__recrash_replay_seal"))
    seal(recrash_sealed_begin, static_cast<size_t>(recrash_sealed_end - recrash_sealed_begin));
}

// For `recrash dump`. The magic is put together here, so that it stands nowhere else.
RECRASH_SEALED abi::ClientPlaces g_places;

void SayPlaces() {
  g_places.self = reinterpret_cast<uint64_t>(&g_places);
  g_places.marked = reinterpret_cast<uint64_t>(g_state.marked);
  g_places.additions = reinterpret_cast<uint64_t>(g_state.additions);
  for (int i = 0; i < 2; ++i) *static_cast<volatile uint64_t*>(&g_places.magic[i]) = abi::kPlacesMagic[i];
}

// A replay decides itself what becomes of the program's handlers, and of a program that ends.
void PassHandlersOn() {
  g_state.replay_sigaction = LookUp<SigactionFunction>(RTLD_NEXT, "sigaction");
  g_state.replay_signal = LookUp<SignalFunction>(RTLD_NEXT, "signal");
  g_state.replay_exit_now = LookUp<ExitFunction>(RTLD_NEXT, "_exit");
  g_state.real_exit = LookUp<ExitFunction>(RTLD_NEXT, "exit");
}

// What is known of the process without /proc.
void NoteProcess(char** arguments) {
  const ssize_t length = readlink("/proc/self/exe", g_state.program, sizeof g_state.program - 1);
  g_state.program[length > 0 ? length : 0] = 0;
  const auto* started_as = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  if (length <= 0 && started_as != nullptr) SetAbsolute(g_state.program, started_as);
  g_state.arguments = arguments;
  g_state.thread_count = LookUp<const uint32_t*>(RTLD_DEFAULT, "__nptl_nthreads");
  g_state.main_stack = getauxval(AT_RANDOM);
  g_state.loaded = {LookUp<const void*>(RTLD_DEFAULT, "_r_debug"), getauxval(AT_PHDR), getauxval(AT_PHNUM),
                    getauxval(AT_SYSINFO_EHDR)};
}

void Prepare(char** arguments) {
  // A set-user-id program must neither obey its caller's environment nor let its memory be written to a file.
  if (getauxval(AT_SECURE) != 0) return InstallExceptionHooks();
  if (getenv("RECRASH_REPLAY") != nullptr) {
    g_state.mode = Mode::kReplay;
    g_state.options = ParseOptions("", TellNotUnderstood);
    JoinReplay();
    PassHandlersOn();
    return InstallExceptionHooks();
  }
  if (FindOtherClient(kPreloaded)) return InstallExceptionHooks();
  NoteProcess(arguments);
  CopyText(g_state.options_text, getenv("RECRASH_OPTIONS"));
  g_state.options = ParseOptions(g_state.options_text, TellNotUnderstood);
  FindReportFolders();
  FindCollector();
  MapMarkedValues();
  MapAdditions();
  g_state.abort_message = LookUp<const char*>(RTLD_DEFAULT, "__abort_msg");
  g_state.process = getpid();
  g_state.mode = Mode::kLive;
  InstallMainThread();
  g_state.real_exit = LookUp<ExitFunction>(RTLD_NEXT, "exit");
  InstallCrashHandler();
  UnblockFailures();  // of a mask that this program was started with
  InstallExceptionHooks();
  StartSecondChance();
  BecomeLive();
  StartWatchdog();
  SayPlaces();
}

// A replay restores the recorded data over the client's; it seals the state itself.
__attribute__((constructor(101))) void StartUp(int, char** arguments, char**) {
  Prepare(arguments);
  if (g_state.mode != Mode::kReplay) SealState();
}

}  // namespace
}  // namespace recrash::client

// The wrapper pulls the archive in with `-u __recrash_client_anchor`.
extern "C" __attribute__((visibility("default"), used)) const char __recrash_client_anchor = 1;
