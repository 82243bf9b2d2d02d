#include "testgen/replay/guest/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/base/signal_safe/left_out.h"
#include "testgen/replay/guest/inputs.h"
#include "testgen/replay/guest/observed.h"
#include "testgen/replay/guest/raw.h"
#include "testgen/replay/guest/world.h"
#include "testgen/replay/sandbox/filter.h"
#include "testgen/replay/sandbox/landlock.h"

namespace recrash::replay {
namespace {

constexpr rlim_t kLargestFile = 64 << 20;
constexpr rlim_t kMostLocked = 64 << 20;

void Limit(int resource, rlim_t value) {
  const rlimit limit{value, value};
  setrlimit(static_cast<__rlimit_resource>(resource), &limit);
}

void MoveTo(int from, int to) {
  if (from == to) return;
  dup2(from, to);
  close(from);
}

int OpenNow(const plan::OpenFile& file) {
  const char* path = TextOf(file.path);
  struct stat status;
  // Opening a fifo would wait for its other end.
  const bool usable = *path && stat(path, &status) == 0 && !S_ISFIFO(status.st_mode) && !S_ISSOCK(status.st_mode);
  return usable ? open(path, file.flags) : -1;
}

int OpenAsRecorded(const plan::OpenFile& file) {
  if (IsHeld(file.input)) return OpenHeld(file.input, file.flags);
  if (file.input < 0 || !IsSealed()) return OpenNow(file);
  NoteMissed();
  return -1;
}

// Where reads cannot be watched, it is taken for read.
void AddStandIn(const plan::OpenFile& file) {
  StandIns& all = world.stand_ins;
  const bool watched = Has(plan::kSandbox) && world.filter.size == 0 && all.watched.count < kMostWatched;
  if (!watched) {
    NoteAbsent(TextOf(file.absent));
    return;
  }
  all.what[all.watched.count] = file.absent;
  all.watched.numbers[all.watched.count++] = static_cast<uint32_t>(file.descriptor);
}

void Reopen(const plan::OpenFile& file) {
  const int descriptor = OpenAsRecorded(file);
  if (file.input >= 0 && DiffersFromRecorded(file.input)) NoteAbsent(TextOf(file.path));
  if (descriptor >= 0) {
    lseek(descriptor, static_cast<off_t>(file.offset), SEEK_SET);
    MoveTo(descriptor, file.descriptor);
  } else {
    if (*TextOf(file.absent)) AddStandIn(file);
    dup2(world.null_fd, file.descriptor);
  }
}

}  // namespace

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

void ReopenFiles(const plan::Array& files) {
  if (LeftOut("files")) return;
  world.stand_ins.watched.count = 0;
  for (const plan::OpenFile& file : TableOf<plan::OpenFile>(files)) {
    const bool is_output = file.descriptor == 1 || file.descriptor == 2;
    if (is_output && Has(plan::kShowOutput)) continue;
    if (file.descriptor == 0 && Has(plan::kInProcess)) continue;
    Reopen(file);
  }
  if (Has(plan::kShowOutput)) return;
  for (int descriptor = 0; descriptor < 3; ++descriptor) {
    bool recorded = false;
    for (const plan::OpenFile& file : TableOf<plan::OpenFile>(files)) {
      recorded = recorded || file.descriptor == descriptor;
    }
    if (!recorded) dup2(world.null_fd, descriptor);
  }
}

void EnterSandbox() {
  // In place it holds for what comes after the first call as well: nobody leaves it.
  if (!Has(plan::kSandbox) || world.filter.size > 0) return;
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  RestrictFiles();
  if (LeftOut("filter")) return;
  BuildFilter(static_cast<uint32_t>(getpid()), world.stand_ins.watched, &world.filter);
  const sock_fprog program{static_cast<unsigned short>(world.filter.size), world.filter.instructions};
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    Problem("this kernel cannot filter system calls (%s), so nothing would hold a replay\n  --no-sandbox goes without",
            strerror(errno));
}

namespace {

// A program may have closed the descriptor, and another file may have its number now.
bool IsStandIn(int descriptor) {
  struct stat now, null;
  return Raw(SYS_fstat, descriptor, &now) == 0 && Raw(SYS_fstat, world.null_fd, &null) == 0 &&
         now.st_rdev == null.st_rdev && now.st_ino == null.st_ino;
}

// A read of a watched descriptor. What it gives is the end of the file, as from /dev/null. Another file is read under
// another number.
long EmulateRead(long call, const greg_t* registers) {
  const auto descriptor = static_cast<int>(registers[REG_RDI]);
  if (IsStandIn(descriptor)) {
    for (int i = 0; i < world.stand_ins.watched.count; ++i) {
      if (world.stand_ins.watched.numbers[i] == static_cast<uint32_t>(descriptor))
        NoteAbsent(TextOf(world.stand_ins.what[i]));
    }
    return 0;
  }
  const long other = Raw(SYS_dup, descriptor);
  if (other < 0) return other;
  const long result = Raw(call, other, registers[REG_RSI], registers[REG_RDX], registers[REG_R10], registers[REG_R8],
                          registers[REG_R9]);
  Raw(SYS_close, other);
  return result;
}

}  // namespace

bool EmulateDenied(siginfo_t* info, ucontext_t* context) {
  constexpr int kSysSeccomp = 1;  // SYS_SECCOMP of siginfo
  if (info->si_code != kSysSeccomp) return false;
  if (IsWatchedCall(info->si_syscall)) {
    context->uc_mcontext.gregs[REG_RAX] = EmulateRead(info->si_syscall, context->uc_mcontext.gregs);
    return true;
  }
  // /dev/null itself could not be opened for writing any more; it was, before the filter came.
  const long duplicate = Raw(SYS_dup, world.null_fd);
  context->uc_mcontext.gregs[REG_RAX] = duplicate;
  return true;
}

}  // namespace recrash::replay
