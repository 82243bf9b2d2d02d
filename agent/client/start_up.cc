// Runs before main: decides whether the client works at all, finds everything that a crash must not look for (options,
// paths, the real functions behind the hooks), and installs the handlers.
//
// It is the earliest constructor of the program, so that static initialisers are watched, too. It allocates nothing on
// the program's heap (in a C program: nothing that stays), and leaves no message for the program's dlerror().
#include <dlfcn.h>
#include <link.h>
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

void FindReportDirectory() {
  if (const char* directory = getenv("RECRASH_DIR"); directory != nullptr && *directory != 0) {
    SetAbsolute(g_state.directory, directory);
    return;
  }
  Text text(g_state.directory);
  if (const char* state = getenv("XDG_STATE_HOME"); state != nullptr && *state == '/')
    text << state << "/recrash";
  else if (const char* home = getenv("HOME"); home != nullptr && *home == '/')
    text << home << "/.local/state/recrash";
  else
    (text << "/tmp/recrash-").Decimal(getuid());
}

// True if `path` can be run, and nobody else can have put it there; the first that somebody can is remembered.
bool MayRun(const char* path) {
  if (!Executable(path)) return false;
  if (WhyNotToRun(path) == nullptr) return true;
  if (g_state.collector_refused[0] == 0) CopyText(g_state.collector_refused, path);
  return false;
}

// Named by who starts the program; else beside the program, where it is shipped; else where recrash was installed when
// it built the program, or, of a program in which nothing is instrumented, where recrash was to be installed.
void FindCollector() {
  char(&out)[1024] = g_state.collector;
  if (const char* given = getenv("RECRASH_COLLECTOR"); given != nullptr && *given != 0) {
    SetAbsolute(out, given);
    if (!MayRun(out)) out[0] = 0;  // asked for by name: no other one instead
    return;
  }
  char beside[1024];
  CopyText(beside, g_state.program);
  if (char* slash = strrchr(beside, '/'); slash != nullptr) *slash = 0;
  Text(out) << beside << "/recrash-collector";
  if (MayRun(out)) return;
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

#ifdef RECRASH_PRELOAD
bool PreloadedClientIsThere() { return false; }  // there: it is this one
#else
// Recognises the library by its file name: looking for a symbol that is almost never there would allocate on the heap.
int IsPreloadedClient(dl_phdr_info* module, size_t, void*) {
  return strcmp(BaseName(module->dlpi_name), "librecrash_preload.so") == 0;
}

// True if this is the archive in a program that also runs with the preloaded client, which came first.
bool PreloadedClientIsThere() {
  if (dl_iterate_phdr(IsPreloadedClient, nullptr) == 0) return false;
  g_state.preloaded_report = LookUp<void (*)(const char*)>(RTLD_NEXT, "__recrash_report");
  g_state.preloaded_keep_memory = LookUp<void (*)(int)>(RTLD_NEXT, "__recrash_keep_memory");
  g_state.preloaded_mark = LookUp<void (*)(const void*, size_t)>(RTLD_NEXT, "__recrash_mark");
  g_state.preloaded_unmark = LookUp<void (*)(const void*)>(RTLD_NEXT, "__recrash_unmark");
  return true;
}
#endif

void Prepare() {
  // A set-user-id program must neither obey its caller's environment nor let its memory be written to a file.
  if (getauxval(AT_SECURE) != 0) return InstallExceptionHooks();
  if (getenv("RECRASH_REPLAY") != nullptr) {
    g_state.mode = Mode::kReplay;
    g_state.options = ParseOptions("", TellNotUnderstood);
    JoinReplay();
    return InstallExceptionHooks();
  }
  if (PreloadedClientIsThere()) return InstallExceptionHooks();
  const ssize_t length = readlink("/proc/self/exe", g_state.program, sizeof g_state.program - 1);
  g_state.program[length > 0 ? length : 0] = 0;
  CopyText(g_state.options_text, getenv("RECRASH_OPTIONS"));
  g_state.options = ParseOptions(g_state.options_text, TellNotUnderstood);
  FindReportDirectory();
  FindCollector();
  MapMarkedValues();
  g_state.abort_message = LookUp<const char*>(RTLD_DEFAULT, "__abort_msg");
  g_state.process = getpid();
  g_state.mode = Mode::kLive;
  InstallMainThread();
  InstallCrashHandler();
  InstallExceptionHooks();
  StartSecondChance();
}

// A replay restores the recorded data over the client's; it seals the state itself.
__attribute__((constructor(101))) void StartUp() {
  Prepare();
  if (g_state.mode != Mode::kReplay) SealState();
}

}  // namespace
}  // namespace recrash::client

// The wrapper pulls the archive in with `-u __recrash_client_anchor`.
extern "C" __attribute__((visibility("default"), used)) const char __recrash_client_anchor = 1;
