#include "testgen/replay/sandbox/landlock.h"

#include <fcntl.h>
#include <stdint.h>
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

}  // namespace

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
