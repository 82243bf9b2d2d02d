#include "testgen/replay/guest/isolation.h"

#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/base/signal_safe/left_out.h"
#include "testgen/replay/guest/raw.h"
#include "testgen/replay/guest/world.h"

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

constexpr rlim_t kLargestFile = 64 << 20;
constexpr rlim_t kMostLocked = 64 << 20;
constexpr rlim_t kMostProcesses = 512;  // of all replays of a start, threads counted

void Limit(int resource, rlim_t value) {
  const rlimit limit{value, value};
  setrlimit(static_cast<__rlimit_resource>(resource), &limit);
}

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

void LeaveNamespaces() {
  if (!Has(plan::kSandbox) || Has(plan::kInProcess) || LeftOut("namespaces")) return;
  const uid_t user = geteuid();
  const gid_t group = getegid();
  if (unshare(CLONE_NEWNET | CLONE_NEWIPC) == 0) return;
  // A user without rights has them in a namespace of its own, if its program has no threads yet.
  if (unshare(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWIPC) != 0) return;
  KeepIdentity(user, group);
  Limit(RLIMIT_NPROC, kMostProcesses);  // counted in this namespace alone; for root it would not hold
}

void RestrictFiles() {
  if (LeftOut("landlock")) return;
  const long version = Raw(kCreateRuleset, nullptr, 0, kAskVersion);
  if (version < 1) return;
  const Ruleset rules = EverythingOf(version);
  const long ruleset = Raw(kCreateRuleset, Number(&rules), SizeOf(version), 0);
  if (ruleset < 0) return;
  const int root = open("/", O_PATH | O_CLOEXEC);
  const FolderRule reading{kReads, root};
  if (Raw(kAddRule, static_cast<uint64_t>(ruleset), kPathBeneath, Number(&reading), 0) == 0)
    Raw(kRestrictSelf, static_cast<uint64_t>(ruleset), 0);
  close(root);
  close(static_cast<int>(ruleset));
}

void MeasureAddressSpace() {
  FILE* file = fopen("/proc/self/statm", "re");
  unsigned long pages = 0;
  if (file) {
    if (fscanf(file, "%lu", &pages) != 1) pages = 0;
    fclose(file);
  }
  world.address_space = pages * plan::kPageSize;
}

void SetLimits() {
  Limit(RLIMIT_CORE, 0);
  Limit(RLIMIT_FSIZE, kLargestFile);
  Limit(RLIMIT_MEMLOCK, kMostLocked);
  if (world.plan->memory_limit) Limit(RLIMIT_AS, world.address_space + world.plan->memory_limit);
}

}  // namespace recrash::replay
