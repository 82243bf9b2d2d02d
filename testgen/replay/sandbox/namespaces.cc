#include "testgen/replay/sandbox/namespaces.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/base/signal_safe/left_out.h"
#include "agent/base/signal_safe/system_call.h"

namespace recrash::replay {
namespace {

constexpr rlim_t kMostProcesses = 512;  // of all replays of a start, threads counted
constexpr int kFirstDescriptor = 500;   // below may be the dead process's

constexpr int kNetwork = CLONE_NEWNET | CLONE_NEWIPC;
constexpr int kNumbers = CLONE_NEWNS | CLONE_NEWPID;  // the numbers need a /proc that knows them

// The user namespace comes first: it gives the right to enter the others.
constexpr struct {
  int kind;
  const char* name;
} kKinds[Namespaces::kMost] = {
    {CLONE_NEWUSER, "user"}, {CLONE_NEWNET, "net"}, {CLONE_NEWIPC, "ipc"}, {CLONE_NEWNS, "mnt"}, {CLONE_NEWPID, "pid"}};

bool Write(const char* path, const char* text) {
  const int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const auto size = static_cast<ssize_t>(strlen(text));
  const bool written = write(file, text, strlen(text)) == size;
  close(file);
  return written;
}

// ---- The holder
// ------------------------------------------------------------------------------------------------------

struct Maker {
  uid_t user;
  gid_t group;
  pid_t process;
};

// Each user and group as it is outside: files belong to whom they belonged.
bool KeepIdentity(const Maker& maker) {
  char users[64];
  char groups[64];
  snprintf(users, sizeof users, "%u %u 1", maker.user, maker.user);
  snprintf(groups, sizeof groups, "%u %u 1", maker.group, maker.group);
  Write("/proc/self/setgroups", "deny");
  return Write("/proc/self/uid_map", users) && Write("/proc/self/gid_map", groups);
}

// Numbers go on from the maker's. Small ones would be those of a report from a container: a lock that its thread 7
// holds would seem to be held by the replay that is number 7, and would not be stolen.
bool NumberProcesses(const Maker& maker) {
  char last[16];
  snprintf(last, sizeof last, "%d", maker.process);
  return mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) == 0 &&
         mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0 &&
         Write("/proc/sys/kernel/ns_last_pid", last);
}

[[noreturn]] void Hold(int kinds, const Maker& maker, int ready) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if ((kinds & CLONE_NEWUSER) && !KeepIdentity(maker)) _exit(1);
  if ((kinds & CLONE_NEWPID) && !NumberProcesses(maker)) _exit(1);
  signal(SIGCHLD, SIG_IGN);  // processes whose parent has ended become its children: none stays a zombie
  if (write(ready, "", 1) != 1) _exit(1);
  constexpr long kCloseRange = 436;
  signal_safe::Call(kCloseRange, 0, ~0u, 0);
  for (;;) pause();
}

// ---- Its maker
// -------------------------------------------------------------------------------------------------------

int OpenOf(pid_t holder, const char* name, int flags) {
  char path[48];
  snprintf(path, sizeof path, "/proc/%d/%s", holder, name);
  const int file = open(path, flags | O_CLOEXEC);
  const int high = file < 0 ? -1 : fcntl(file, F_DUPFD_CLOEXEC, kFirstDescriptor);
  if (file >= 0) close(file);
  return high;
}

bool OpenAll(pid_t holder, Namespaces* namespaces) {
  bool opened = (namespaces->root = OpenOf(holder, "root", O_PATH | O_DIRECTORY)) >= 0;
  for (int i = 0; i < Namespaces::kMost; ++i) {
    if (!(namespaces->kinds & kKinds[i].kind)) continue;
    char name[16];
    snprintf(name, sizeof name, "ns/%s", kKinds[i].name);
    opened = (namespaces->files[i] = OpenOf(holder, name, O_RDONLY)) >= 0 && opened;
  }
  return opened;
}

// By the bare system call, as a replay's process. Without a signal at its end, so that no wait of the program's finds
// it, and CLONE_UNTRACED, lest a debugger tells of it.
bool Make(int kinds, Namespaces* namespaces) {
  const Maker maker{geteuid(), getegid(), getpid()};
  int ready[2];
  if (pipe2(ready, O_CLOEXEC) != 0) return false;
  const auto holder = static_cast<pid_t>(signal_safe::Call(SYS_clone, kinds | CLONE_UNTRACED, nullptr));
  if (holder == 0) Hold(kinds, maker, ready[1]);
  close(ready[1]);
  char byte;
  const bool is_there = holder > 0 && read(ready[0], &byte, 1) == 1;
  close(ready[0]);
  namespaces->kinds = kinds;
  if (is_there && OpenAll(holder, namespaces)) return true;
  namespaces->kinds = 0;
  if (holder <= 0) return false;
  kill(holder, SIGKILL);
  waitpid(holder, nullptr, __WALL);
  return false;
}

// ---- Who enters
// ------------------------------------------------------------------------------------------------------

struct Entry {
  const Namespaces* namespaces;
  void (*run)();
  int32_t* number;
};

bool Enter(const Namespaces& namespaces) {
  for (int i = 0; i < Namespaces::kMost; ++i) {
    if (!(namespaces.kinds & kKinds[i].kind)) continue;
    if (setns(namespaces.files[i], kKinds[i].kind) != 0) return false;
    close(namespaces.files[i]);
  }
  // Counted in this namespace alone; for root it would not hold.
  constexpr rlimit kProcesses = {kMostProcesses, kMostProcesses};
  if (namespaces.kinds & CLONE_NEWUSER) setrlimit(RLIMIT_NPROC, &kProcesses);
  // Entering mounts leads to their root, which need not be this process's.
  if ((namespaces.kinds & CLONE_NEWNS) && (fchdir(namespaces.root) != 0 || chroot(".") != 0)) return false;
  close(namespaces.root);
  return true;
}

// Process numbers are entered by children alone: so this process enters, and the replay is its child. It is in this
// process's place otherwise (CLONE_PARENT).
int EnterAndStart(void* raw) {
  const auto* entry = static_cast<const Entry*>(raw);
  if (!Enter(*entry->namespaces)) return 1;
  const long child = signal_safe::Call(SYS_clone, CLONE_PARENT | CLONE_PARENT_SETTID | SIGCHLD, nullptr, entry->number);
  if (child == 0) entry->run();
  return child < 0;
}

}  // namespace

Namespaces MakeNamespaces() {
  Namespaces namespaces;
  if (LeftOut("namespaces")) return namespaces;
  // A user without rights has them in a namespace of its own.
  constexpr int kTried[] = {kNetwork | kNumbers, CLONE_NEWUSER | kNetwork | kNumbers, kNetwork,
                            CLONE_NEWUSER | kNetwork};
  for (const int kinds : kTried) {
    if ((kinds & kNumbers) && LeftOut("process_numbers")) continue;
    if (Make(kinds, &namespaces)) break;
  }
  return namespaces;
}

bool HaveNumbers(const Namespaces& namespaces) { return namespaces.kinds & CLONE_NEWPID; }

long StartInside(const Namespaces& namespaces, void* stack_end, void (*run)(), int32_t* number) {
  Entry entry{&namespaces, run, number};
  // It shares this process's memory, which waits for it: to enter costs no copy. The replay's own is made from it.
  const int starter = clone(EnterAndStart, stack_end, CLONE_VM | CLONE_VFORK | CLONE_UNTRACED | SIGCHLD, &entry);
  int status = 1;
  while (starter > 0 && waitpid(starter, &status, 0) < 0 && errno == EINTR) {
  }
  return starter > 0 && status == 0 ? *number : -1;
}

}  // namespace recrash::replay
