// A held input is an anonymous file, sealed against writing, that a path below /proc/self/fd opens anew: so each
// descriptor has an offset of its own, and the C library does the rest. Programs that list the folder before they open
// a file find symbolic links to these in it, in a folder of ours: no name out of a report is used elsewhere.
#include "testgen/replay/guest/inputs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/signal_safe/left_out.h"
#include "agent/base/signal_safe/text.h"
#include "testgen/replay/guest/keeper.h"
#include "testgen/replay/guest/memory.h"
#include "testgen/replay/guest/observed.h"
#include "testgen/replay/guest/raw.h"
#include "testgen/replay/guest/world.h"
#include "testgen/replay/plan/recorded_path.h"

namespace recrash::replay {
namespace {

constexpr Inputs& own = world.inputs;

constexpr char kNowhere[] = "/proc/self/fd/none";

int MoveHigh(int descriptor) {
  constexpr int kLowest[] = {20000, 4000, 1000, 200, 100};
  for (const int low : kLowest) {
    const int high = fcntl(descriptor, F_DUPFD_CLOEXEC, low);
    if (high < 0) continue;
    close(descriptor);
    return high;
  }
  return descriptor;
}

int MakeContent(const plan::Input& input) {
  int file = memfd_create("recrash-input", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  const char* bytes = world.bytes + input.offset;
  for (uint64_t done = 0; file >= 0 && done < input.size;) {
    const ssize_t part = write(file, bytes + done, input.size - done);
    if (part <= 0) Problem("cannot put the content of an input into an anonymous file: %s", strerror(errno));
    done += static_cast<uint64_t>(part);
  }
  if (file < 0) Problem("cannot make an anonymous file: %s", strerror(errno));
  fchmod(file, 0644);
  fcntl(file, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
  return MoveHigh(file);
}

bool Same(const char* a, const char* b) {
  while (*a && *a == *b) ++a, ++b;
  return *a == *b;
}

const char* WithoutPrefix(const char* path, const char* prefix) {
  while (*prefix && *path == *prefix) ++path, ++prefix;
  return *prefix == 0 && (*path == 0 || *path == '/') ? path : nullptr;
}

// Where relative paths begin, as the dead process knew it. False: not to be found out.
bool FolderOf(int folder, char* out) {
  if (folder == AT_FDCWD && !own.folder_left) {
    CopyText(out, kLongestPath, TextOf(world.plan->working_directory));
    return *out == '/';
  }
  char link[32] = "/proc/self/cwd";
  if (folder != AT_FDCWD) (signal_safe::Text(link) << "/proc/self/fd/").Decimal(static_cast<uint32_t>(folder));
  const long length = Raw(SYS_readlink, link, out, kLongestPath - 1);
  if (length <= 0) return false;
  out[length] = 0;
  return *out == '/';
}

// The path as the dead process would have written it down. `*here`: it lies below the run's own empty folder, by
// whichever name.
bool Recorded(int folder, const char* path, char* out, bool* here) {
  char start[kLongestPath];
  if (*path != '/' && !FolderOf(folder, start)) return false;
  if (!NormalizePath(start, path, out, kLongestPath)) return false;
  *here = *path != '/' && folder == AT_FDCWD && !own.folder_left;
  const char* below = own.folder_is_ours ? WithoutPrefix(out, own.folder) : nullptr;
  if (!below) return true;
  *here = true;
  char rest[kLongestPath];
  CopyText(rest, sizeof rest, below);
  return NormalizePath("/", TextOf(world.plan->working_directory), start, sizeof start) &&
         NormalizePath(start, *rest ? rest + 1 : rest, out, kLongestPath);
}

int FindInput(const char* recorded) {
  for (const plan::InputName& name : TableOf<plan::InputName>(world.plan->input_names)) {
    if (Same(TextOf(name.path), recorded)) return static_cast<int>(name.input);
  }
  return -1;
}

// The held inputs that lay in the program's folder itself, by the path that they have in the run's.
template <typename Visit>
void ForEachListed(Visit visit) {
  char folder[kLongestPath];
  char link[2 * kLongestPath];
  if (!NormalizePath("/", TextOf(world.plan->working_directory), folder, sizeof folder)) return;
  for (const plan::InputName& name : TableOf<plan::InputName>(world.plan->input_names)) {
    const char* below = WithoutPrefix(TextOf(name.path), folder);
    if (!IsHeld(static_cast<int>(name.input)) || !below || !*below || strchr(below + 1, '/')) continue;
    snprintf(link, sizeof link, "%s%s", own.empty_folder, below);
    visit(link, own.contents[name.input]);
  }
}

// To make a folder and remove it took a fifth of a replay's processor time (ext4). So it is made once, with a time of
// change at which nothing else changes.
constexpr timespec kMadeAt[] = {{0, 0}, {0, 0}};  // accessed, changed

void MakeFolder() {
  snprintf(own.empty_folder, sizeof own.empty_folder, "%s/XXXXXX", KeptFolder());
  if (!mkdtemp(own.empty_folder)) Problem("cannot make an empty folder like %s: %s", own.empty_folder, strerror(errno));
  // Two names of one input, or a name that is taken: one link is enough.
  ForEachListed([](const char* link, const Content& content) { (void)!symlink(content.path, link); });
  utimensat(AT_FDCWD, own.empty_folder, kMadeAt, 0);
}

bool IsFolderAsMade() {
  struct stat status;
  return *own.empty_folder && stat(own.empty_folder, &status) == 0 && status.st_mtime == kMadeAt[1].tv_sec;
}

}  // namespace

void PrepareInputs() {
  for (Content& content : own.contents) content.descriptor = -1;
  if (LeftOut("inputs")) return;
  const auto inputs = TableOf<plan::Input>(world.plan->inputs);
  for (size_t i = 0; i < inputs.count; ++i) {
    if (!inputs[i].held) continue;
    own.contents[i].descriptor = MakeContent(inputs[i]);
    snprintf(own.contents[i].path, sizeof own.contents[i].path, "/proc/self/fd/%d", own.contents[i].descriptor);
  }
}

bool IsHeld(int input) { return input >= 0 && own.contents[input].descriptor >= 0; }

bool IsSealed() { return own.sealed; }

bool DiffersFromRecorded(int input) {
  return TableOf<plan::Input>(world.plan->inputs)[static_cast<size_t>(input)].differs;
}

void PrepareFolder(bool seal) {
  own.sealed = seal;
  own.folder_left = false;
  CopyText(own.folder, sizeof own.folder, TextOf(world.plan->working_directory));
  own.folder_is_ours = own.sealed || !IsFolder(own.folder);
  // In place the first call enters the sandbox, in which no folder can be made for those that follow.
  if (!own.folder_is_ours && !Has(plan::kInProcess)) return;
  if (!IsFolderAsMade()) {
    RemoveFolder();
    MakeFolder();
  }
  if (own.folder_is_ours) CopyText(own.folder, sizeof own.folder, own.empty_folder);
}

void RemoveFolder() {
  if (!*own.empty_folder) return;
  ForEachListed([](const char* link, const Content&) { unlink(link); });
  rmdir(own.empty_folder);
  *own.empty_folder = 0;
}

void EnterFolder() {
  // Never where the user happens to stand.
  if (Raw(SYS_chdir, own.folder) != 0 && Raw(SYS_chdir, "/") != 0) own.folder_left = true;
}

void SealMappings() {
  if (!own.sealed) return;
  for (const plan::Mapping& mapping : TableOf<plan::Mapping>(world.plan->mappings)) {
    if (mapping.kind != plan::MappingKind::kFile || mapping.input < 0 || IsHeld(mapping.input)) continue;
    NoteMissed();  // who touches it dies of that; nothing tells
    MapAnew(mapping.start, mapping.end, PROT_NONE);
  }
}

int OpenHeld(int input, int flags) {
  const Content& content = own.contents[input];
  const auto close_on_exec = static_cast<uint64_t>(flags & O_CLOEXEC);
  if ((flags & O_ACCMODE) == O_RDONLY) {
    return static_cast<int>(Raw(SYS_openat, int64_t{AT_FDCWD}, content.path, close_on_exec));
  }
  const long copy = Raw(SYS_memfd_create, "recrash-input", close_on_exec ? MFD_CLOEXEC : 0);
  if (copy < 0) return static_cast<int>(copy);
  uint64_t left = flags & O_TRUNC ? 0 : TableOf<plan::Input>(world.plan->inputs)[static_cast<size_t>(input)].size;
  off_t at = 0;
  while (left > 0) {
    const long part = Raw(SYS_sendfile, copy, content.descriptor, &at, left);
    if (part <= 0) break;
    left -= static_cast<uint64_t>(part);
  }
  Raw(SYS_lseek, copy, 0, SEEK_SET);
  Raw(SYS_fcntl, copy, F_SETFL, flags & (O_APPEND | O_NONBLOCK));
  return static_cast<int>(copy);
}

Place FindPlace(int folder, const char* path, bool only_writes) {
  if (!world.restored || !path || !*path) return {};
  if (!own.sealed && world.plan->input_names.count == 0) return {};
  char recorded[kLongestPath];
  bool here = false;
  if (!Recorded(folder, path, recorded, &here)) return {};
  const int input = FindInput(recorded);
  if (IsHeld(input)) return {Where::kHeld, input};
  if (own.sealed && (input >= 0 || here) && !only_writes) NoteMissed();
  if (input >= 0 && !only_writes && (own.sealed || DiffersFromRecorded(input))) NoteAbsent(recorded);
  return input >= 0 && own.sealed ? Place{Where::kHidden, input} : Place{};
}

const char* PathOf(const Place& place, const char* path) {
  if (place.where == Where::kHeld) return own.contents[place.input].path;
  return place.where == Where::kHidden ? kNowhere : path;
}

const char* RecordedPath(int input) {
  return TextOf(TableOf<plan::Input>(world.plan->inputs)[static_cast<size_t>(input)].path);
}

const char* FolderFor(const char* path) {
  char recorded[kLongestPath];
  char working[kLongestPath];
  bool here = false;
  const bool same = world.restored && path && Recorded(AT_FDCWD, path, recorded, &here) &&
                    NormalizePath("/", TextOf(world.plan->working_directory), working, sizeof working) &&
                    Same(recorded, working);
  return same ? own.folder : nullptr;
}

void LeaveFolder(bool left) {
  if (world.restored) own.folder_left = left;
}

}  // namespace recrash::replay
