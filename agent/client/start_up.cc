// What runs before main: decides whether the client works at all, fixes everything that a crash must not look for
// (options, paths, the real functions behind the hooks) and installs the handlers.
//
// Runs as the earliest constructor of the program, so that static initialisers are watched too. Allocates nothing on
// the program's heap (in a C program: nothing that stays), and leaves no message for its dlerror().
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "agent/base/signal_safe/text.h"
#include "agent/client/client.h"
#include "agent/client/look_up.h"
#include "agent/client/second_chance.h"

#ifndef RECRASH_COLLECTOR_DIRECTORY
#error "the build must say where recrash-collector is installed"
#endif

namespace recrash::client {

using signal_safe::CopyText;
using signal_safe::ReadNumber;
using signal_safe::Text;

RECRASH_SEALED State g_state;

namespace {

bool Executable(const char* path) { return path[0] == '/' && access(path, X_OK) == 0; }

// RECRASH_OPTIONS: name=value, separated by commas or colons.
void ParseOptions(const char* text) {
  g_state.options = kDefaultOptions;
  while (text != nullptr && *text != 0) {
    const size_t length = strcspn(text, ",:");
    const char* equals = static_cast<const char*>(memchr(text, '=', length));
    const size_t name = equals != nullptr ? static_cast<size_t>(equals - text) : length;
    const char* value = equals != nullptr ? equals + 1 : "";
    auto is = [&](const char* option) { return strlen(option) == name && memcmp(option, text, name) == 0; };
    if (is("timeout"))
      g_state.options.timeout_seconds = static_cast<uint32_t>(ReadNumber(value, 10));
    else if (is("memory"))
      g_state.options.memory_mib = static_cast<uint32_t>(ReadNumber(value, 10));
    else if (is("throw_stack"))
      g_state.options.throw_stack = static_cast<uint32_t>(ReadNumber(value, 10));
    else if (is("quiet"))
      g_state.options.quiet = *value != '0';
    else if (is("exceptions"))
      g_state.options.exceptions_main = strncmp(value, "main", 4) == 0;
    else if (is("snapshot_cpu"))
      g_state.options.snapshots.cpu_percent = static_cast<uint32_t>(ReadNumber(value, 10));
    else if (is("snapshot_memory"))
      g_state.options.snapshots.memory_mib = static_cast<uint32_t>(ReadNumber(value, 10));
    else if (is("adaptive"))
      g_state.options.adaptive = *value != '0';
    else if (is("snapshot_pause"))
      g_state.options.snapshots.pause_ms = static_cast<uint32_t>(ReadNumber(value, 10));
    else if (is("snapshot_depth"))
      g_state.options.snapshots.depth = static_cast<uint32_t>(ReadNumber(value, 10));
    else if (length != 0 && !is("files")) {  // files: the collector's
      char line[384];
      Text message(line);
      message << "recrash: RECRASH_OPTIONS: unknown option at \"" << text
              << "\" ignored; known are timeout, memory, throw_stack, quiet, exceptions, files, snapshot_cpu, "
                 "snapshot_memory, snapshot_pause, snapshot_depth, adaptive";
      message << "\n";
      if (write(STDERR_FILENO, message.c_str(), message.size()) < 0) return;
    }
    text += length;
    if (*text != 0) ++text;
  }
  constexpr uint32_t kMost = 1 << 20;
  if (g_state.options.throw_stack > kMost) g_state.options.throw_stack = kMost;
  // The log's numbers of pages have 32 bits, and address space is reserved for all of it.
  constexpr uint32_t kMostSnapshotMemory = 16 << 10;
  if (g_state.options.snapshots.memory_mib > kMostSnapshotMemory)
    g_state.options.snapshots.memory_mib = kMostSnapshotMemory;
  if (g_state.options.snapshots.cpu_percent > 100) g_state.options.snapshots.cpu_percent = 100;
  constexpr uint32_t kMostSnapshotDepth = 100;
  if (g_state.options.snapshots.depth > kMostSnapshotDepth) g_state.options.snapshots.depth = kMostSnapshotDepth;
  if (g_state.options.timeout_seconds == 0) g_state.options.timeout_seconds = 1;
}

// Absolute, because the program may change its directory before it crashes.
void SetAbsolute(char (&out)[1024], const char* path) {
  Text text(out);
  if (path[0] != '/') {
    char directory[1024];
    if (getcwd(directory, sizeof directory) != nullptr) text << directory << "/";
  }
  text << path;
}

void FindReportDirectory() {
  if (const char* directory = getenv("RECRASH_DIR"); directory != nullptr && *directory != 0)
    return SetAbsolute(g_state.directory, directory);
  Text text(g_state.directory);
  if (const char* state = getenv("XDG_STATE_HOME"); state != nullptr && *state == '/')
    text << state << "/recrash";
  else if (const char* home = getenv("HOME"); home != nullptr && *home == '/')
    text << home << "/.local/state/recrash";
  else
    (text << "/tmp/recrash-").Decimal(getuid());
}

void FindCollector() {
  char(&out)[1024] = g_state.collector;
  if (const char* given = getenv("RECRASH_COLLECTOR"); given != nullptr && *given != 0) {
    SetAbsolute(out, given);
    if (!Executable(out)) out[0] = 0;  // asked for by name: no other one instead
    return;
  }
  Text(out) << g_state.program;
  if (char* slash = strrchr(out, '/'); slash != nullptr) {
    *slash = 0;
    char beside[1024];
    CopyText(beside, out);
    Text(out) << beside << "/recrash-collector";
    if (Executable(out)) return;
  }
  Text(out) << RECRASH_COLLECTOR_DIRECTORY "/recrash-collector";
  if (Executable(out)) return;
  for (const char* path = getenv("PATH"); path != nullptr && *path != 0;) {
    const size_t length = strcspn(path, ":");
    if (length != 0 && length < 900) {
      memcpy(out, path, length);
      memcpy(out + length, "/recrash-collector", sizeof "/recrash-collector");
      if (Executable(out)) return;
    }
    path += length;
    if (*path != 0) ++path;
  }
  out[0] = 0;
}

// The replay library, when it is there, is told which memory it must leave as this process made it, and what it must
// seal when the memory is as recorded.
void JoinReplay() {
  using Told = void (*)(void* start, size_t size);
  if (auto keep = reinterpret_cast<Told>(LookUp(RTLD_DEFAULT, "__recrash_replay_keep"))) keep(&g_state, sizeof g_state);
  if (auto seal = reinterpret_cast<Told>(LookUp(RTLD_DEFAULT, "__recrash_replay_seal")))
    seal(recrash_sealed_begin, static_cast<size_t>(recrash_sealed_end - recrash_sealed_begin));
}

#ifdef RECRASH_PRELOAD
bool PreloadedClientIsThere() { return false; }  // there: it is this one
#else
// Told by its file's name: to look for a symbol that is almost never there would allocate on the program's heap.
int IsPreloadedClient(dl_phdr_info* module, size_t, void*) {
  const char* slash = strrchr(module->dlpi_name, '/');
  return strcmp(slash != nullptr ? slash + 1 : module->dlpi_name, "librecrash_preload.so") == 0;
}

// True when this is the archive in a program that also runs with the preloaded client, which came first.
bool PreloadedClientIsThere() {
  if (dl_iterate_phdr(IsPreloadedClient, nullptr) == 0) return false;
  using Reported = void (*)(const char*);
  g_state.preloaded_report = reinterpret_cast<Reported>(LookUp(RTLD_NEXT, "__recrash_report"));
  return true;
}
#endif

void Prepare() {
  // A set-user-id program must neither obey its caller's environment nor let its memory be written to a file.
  if (getauxval(AT_SECURE) != 0) return InstallExceptionHooks();
  if (getenv("RECRASH_REPLAY") != nullptr) {
    g_state.mode = Mode::kReplay;
    g_state.options = kDefaultOptions;
    g_state.options.snapshots = {};
    JoinReplay();
    return InstallExceptionHooks();
  }
  if (PreloadedClientIsThere()) return InstallExceptionHooks();
  const ssize_t length = readlink("/proc/self/exe", g_state.program, sizeof g_state.program - 1);
  g_state.program[length > 0 ? length : 0] = 0;
  CopyText(g_state.options_text, getenv("RECRASH_OPTIONS"));
  ParseOptions(g_state.options_text);
  FindReportDirectory();
  FindCollector();
  g_state.abort_message = static_cast<const char*>(LookUp(RTLD_DEFAULT, "__abort_msg"));
  g_state.process = getpid();
  g_state.mode = Mode::kLive;
  InstallMainThread();
  InstallCrashHandler();
  InstallExceptionHooks();
  StartSecondChance();
}

// A replay writes the recorded data over ours; it seals the state itself.
__attribute__((constructor(101))) void StartUp() {
  Prepare();
  if (g_state.mode != Mode::kReplay) SealState();
}

}  // namespace
}  // namespace recrash::client

// The wrapper pulls the archive in with `-u __recrash_client_anchor`.
extern "C" __attribute__((visibility("default"), used)) const char __recrash_client_anchor = 1;
