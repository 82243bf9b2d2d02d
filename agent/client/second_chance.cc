#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "agent/base/signal_safe/profile_line.h"
#include "agent/base/signal_safe/text.h"
#include "agent/client/client.h"
#include "agent/client/watch/loaded_modules.h"
#include "agent/client/watch/patcher.h"

namespace recrash::client {
namespace {

using namespace signal_safe;
using namespace watch;
bool IsFolder(const char* path) {
  const int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) close(folder);
  return folder >= 0;
}

// Absolute: the program may change its directory before a crash updates the profile.
void SetProfile(const char* path) {
  Text text = SetAbsolute(g_progress.profile, path);
  if (IsFolder(g_progress.profile)) text << "/" << ProgramName() << kProfileSuffix;
  if (text.full()) g_progress.profile[0] = 0;
}

void Say(const Text& line) {
  if (g_state.options.quiet == 0) PrintLine(line);
}

// Says what of the profile is not watched, if anything is.
void Tell(const PatchCounts& counts) {
  char line[1536];
  Text text(line);
  text << "recrash: profile " << g_progress.profile << ": ";
  text.Decimal(counts.wanted) << " functions, ";
  text.Decimal(counts.patched) << " entries watched";
  const size_t all = text.size();
  const auto add = [&](uint32_t count, const char* what) {
    if (count != 0) (text << "; ").Decimal(count) << " " << what;
  };
  for (size_t i = 0; i < static_cast<size_t>(Refusal::kCount); ++i)
    add(counts.refused[i], RefusalText(static_cast<Refusal>(i)));
  add(counts.damaged, "lines not understood");
  add(counts.missing, "not in this build, or in a library that is loaded later");
  add(counts.without_symbols, "of another build, and this one has no symbol table to find them by name");
  if (text.size() != all) Say(text);
}

// Some small functions can never be patched. That is worth a line only if no entry is watched at all.
void WatchAll() {
  PatchCounts counts;
  PatchAll(&counts);
  if (counts.patched != 0) return;
  const auto most_frequent = std::max_element(std::begin(counts.refused), std::end(counts.refused)) - counts.refused;
  char line[256];
  Text text(line);
  Say(text << "recrash: adaptive: no entry is watched: "
           << (counts.wanted == 0 ? "none was built for that (-recrash-mode=adaptive)"
                                  : RefusalText(static_cast<Refusal>(most_frequent))));
}

void Apply() {
  PatchCounts counts;
  const ProfileRead read = PatchProfiled(g_progress.profile, &counts);
  if (read == ProfileRead::kRead) return Tell(counts);
  if (read == ProfileRead::kNone) return;
  char line[1280];
  Text text(line);
  Say(text << "recrash: profile " << g_progress.profile
           << ": not a readable file of at most 16 MiB; no function is watched");
}

void FindProfile() {
  if (const char* given = getenv("RECRASH_PROFILE"); given != nullptr) {
    if (*given == 0) return;
    SetProfile(given);
  } else {
    Text text(g_progress.profile);
    text << g_state.program << kProfileSuffix;
    if (text.full() || g_state.program[0] == 0) g_progress.profile[0] = 0;
  }
}

}  // namespace

void StartSecondChance() {
  FindProfile();
  const Options& options = g_state.options;
  const bool adaptive = options.adaptive == kAsBuilt ? ProgramIsAdaptive() : options.adaptive != 0;
  g_state.snapshots = {options.snapshot_cpu, options.snapshot_memory_mib, options.snapshot_pause_ms,
                       options.snapshot_depth, adaptive};
  record::StartRecording(&g_state.snapshots);
  if (adaptive)
    WatchAll();
  else if (g_progress.profile[0] != 0)
    Apply();
}

}  // namespace recrash::client

// Watches the functions of the profile in `folder`, or of that file. Null: puts all entries back as they were compiled.
extern "C" __attribute__((visibility("default"))) void __recrash_profiles(const char* folder) {
  using namespace recrash::client;
  if (g_state.other != nullptr) return g_state.other->profiles(folder);
  if (g_state.mode != Mode::kLive) return;
  const int saved_errno = errno;
  if (folder == nullptr) {
    UnpatchAll();
  } else {
    SetProfile(folder);
    if (g_progress.profile[0] != 0) Apply();
  }
  errno = saved_errno;
}
