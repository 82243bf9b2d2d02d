#include "testgen/replay/sandbox/isolation.h"

#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/base/signal_safe/left_out.h"
#include "agent/base/signal_safe/system_call.h"

namespace recrash::replay {
namespace {

// Of <linux/landlock.h>, which is older than the kernels that this runs on.
constexpr long kCreateRuleset = 444;
constexpr long kAddRule = 445;
constexpr long kRestrictSelf = 446;
constexpr uint64_t kAskVersion = 1;
constexpr uint64_t kPathBeneath = 1;
constexpr uint64_t kExecute = 1 << 0;
constexpr uint64_t kReadFile = 1 << 2;
constexpr uint64_t kReadFolder = 1 << 3;
constexpr uint64_t kReads = kExecute | kReadFile | kReadFolder;

struct Ruleset {
  uint64_t files;
  uint64_t network;
  uint64_t scoped;
};

struct __attribute__((packed)) FolderRule {
  uint64_t allowed;
  int32_t folder;
};

// All that a version knows, so that all but reading is refused. A kernel refuses what is newer than itself.
Ruleset EverythingOf(long version) {
  constexpr uint64_t kFilesOf[] = {0, (1 << 13) - 1, (1 << 14) - 1, (1 << 15) - 1, (1 << 15) - 1, (1 << 16) - 1};
  Ruleset rules{};
  rules.files = kFilesOf[version > 5 ? 5 : version];
  if (version >= 4) rules.network = 3;  // bind and connect, TCP
  if (version >= 6) rules.scoped = 3;   // abstract sockets, signals
  return rules;
}

size_t SizeOf(long version) { return version >= 6 ? sizeof(Ruleset) : version >= 4 ? 16 : 8; }

constexpr rlim_t kMostProcesses = 512;  // of all replays of a start, threads counted

void WriteMap(const char* path, const char* text) {
  const int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  (void)!write(file, text, strlen(text));
  close(file);
}

// Each user and group as it is outside: files belong to whom they belonged.
void KeepIdentity(uid_t user, gid_t group) {
  char line[64];
  WriteMap("/proc/self/setgroups", "deny");
  snprintf(line, sizeof line, "%u %u 1", user, user);
  WriteMap("/proc/self/uid_map", line);
  snprintf(line, sizeof line, "%u %u 1", group, group);
  WriteMap("/proc/self/gid_map", line);
}

}  // namespace

bool LeaveNamespaces() {
  if (LeftOut("namespaces")) return false;
  const uid_t user = geteuid();
  const gid_t group = getegid();
  if (unshare(CLONE_NEWNET | CLONE_NEWIPC) == 0) return true;
  // A user without rights has them in a namespace of its own, if its program has no threads yet.
  if (unshare(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWIPC) != 0) return false;
  KeepIdentity(user, group);
  // Counted in this namespace alone; for root it would not hold.
  constexpr rlimit kProcesses = {kMostProcesses, kMostProcesses};
  setrlimit(RLIMIT_NPROC, &kProcesses);
  return true;
}

bool RestrictFiles() {
  if (LeftOut("landlock")) return false;
  const long version = signal_safe::Call(kCreateRuleset, nullptr, 0, kAskVersion);
  if (version < 1) return false;
  const Ruleset rules = EverythingOf(version);
  const long ruleset = signal_safe::Call(kCreateRuleset, &rules, SizeOf(version), 0);
  if (ruleset < 0) return false;
  const int root = open("/", O_PATH | O_CLOEXEC);
  const FolderRule reading{kReads, root};
  const bool restricted = signal_safe::Call(kAddRule, static_cast<uint64_t>(ruleset), kPathBeneath, &reading, 0) == 0 &&
                          signal_safe::Call(kRestrictSelf, static_cast<uint64_t>(ruleset), 0) == 0;
  close(root);
  close(static_cast<int>(ruleset));
  return restricted;
}

}  // namespace recrash::replay
