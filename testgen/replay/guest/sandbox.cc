#include "testgen/replay/guest/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/base/signal_safe/left_out.h"
#include "testgen/replay/guest/inputs.h"
#include "testgen/replay/guest/observed.h"
#include "testgen/replay/guest/raw.h"
#include "testgen/replay/guest/world.h"

namespace recrash::replay {
namespace {

constexpr rlim_t kLargestFile = 64 << 20;

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

void Reopen(const plan::OpenFile& file) {
  const int descriptor = OpenAsRecorded(file);
  if (descriptor >= 0) {
    lseek(descriptor, static_cast<off_t>(file.offset), SEEK_SET);
    MoveTo(descriptor, file.descriptor);
  } else {
    dup2(world.null_fd, file.descriptor);
  }
}

// ---- Filter ------------------------------------------------------------------------------------------------------

void Emit(uint16_t code, uint32_t k, uint8_t jump_true = 0, uint8_t jump_false = 0) {
  if (world.filter.size < kMostInstructions)
    world.filter.instructions[world.filter.size++] = {code, jump_true, jump_false, k};
}

constexpr uint32_t kNumber = offsetof(seccomp_data, nr);

constexpr uint32_t LowHalf(int argument) {
  return static_cast<uint32_t>(offsetof(seccomp_data, args)) + static_cast<uint32_t>(argument) * 8;
}

void Load(uint32_t offset) { Emit(BPF_LD | BPF_W | BPF_ABS, offset); }

void Return(uint32_t action) { Emit(BPF_RET | BPF_K, action); }

constexpr uint32_t Fail(int error) { return SECCOMP_RET_ERRNO | static_cast<uint32_t>(error); }

void Deny(long number, int error) {
  Emit(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(number), 0, 1);
  Return(Fail(error));
}

// open and its like: trapped when they could write, so that /dev/null can be opened in the file's place.
void TrapWriting(long number, int flags_argument) {
  Emit(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(number), 0, 4);
  Load(LowHalf(flags_argument));
  Emit(BPF_JMP | BPF_JSET | BPF_K, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC, 0, 1);
  Return(SECCOMP_RET_TRAP);
  Load(kNumber);
}

// kill and its like: only the process itself.
void OnlyOwnProcess(long number, uint32_t process) {
  Emit(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(number), 0, 4);
  Load(LowHalf(0));
  Emit(BPF_JMP | BPF_JEQ | BPF_K, process, 1, 0);
  Return(Fail(EPERM));
  Load(kNumber);
}

void OnlyLocalSockets() {
  Emit(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 4);
  Load(LowHalf(0));
  Emit(BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 1, 0);
  Return(Fail(EACCES));
  Load(kNumber);
}

// Calls that change files or other processes, and that a replay is refused.
// clang-format off
constexpr long kChanges[] = {
    SYS_unlink, SYS_unlinkat, SYS_rmdir, SYS_rename, SYS_renameat, SYS_renameat2, SYS_mkdir, SYS_mkdirat,
    SYS_link, SYS_linkat, SYS_symlink, SYS_symlinkat, SYS_chmod, SYS_fchmodat, SYS_chown, SYS_lchown,
    SYS_fchownat, SYS_truncate, SYS_mknod, SYS_mknodat, SYS_setxattr, SYS_mount, SYS_umount2, SYS_reboot,
    SYS_fchmod, SYS_fchown, SYS_utimensat, SYS_utimes, SYS_utime, SYS_connect, SYS_ptrace,
    SYS_pidfd_send_signal, SYS_process_vm_writev, SYS_shmctl, SYS_msgctl, SYS_semctl,
};
// clang-format on

void BuildFilter() {
  world.filter.size = 0;
  Load(offsetof(seccomp_data, arch));
  Emit(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
  Return(Fail(ENOSYS));
  Load(kNumber);
  TrapWriting(SYS_open, 1);
  TrapWriting(SYS_openat, 2);
  Emit(BPF_JMP | BPF_JEQ | BPF_K, SYS_creat, 0, 1);
  Return(SECCOMP_RET_TRAP);
  Deny(SYS_openat2, ENOSYS);
  Deny(SYS_io_uring_setup, ENOSYS);
  for (const long number : kChanges) Deny(number, EACCES);
  const auto self = static_cast<uint32_t>(getpid());
  OnlyOwnProcess(SYS_kill, self);
  OnlyOwnProcess(SYS_tgkill, self);
  OnlyLocalSockets();
  Return(SECCOMP_RET_ALLOW);
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
  if (world.plan->memory_limit) Limit(RLIMIT_AS, world.address_space + world.plan->memory_limit);
}

void ReopenFiles(const plan::Array& files) {
  if (LeftOut("files")) return;
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
  if (!Has(plan::kSandbox)) return;
  BuildFilter();
  const sock_fprog program{static_cast<unsigned short>(world.filter.size), world.filter.instructions};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  // Where the kernel has no filters the limits and the descriptors are what there is.
  prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

bool EmulateDenied(siginfo_t* info, ucontext_t* context) {
  constexpr int kSysSeccomp = 1;  // SYS_SECCOMP of siginfo
  if (info->si_code != kSysSeccomp) return false;
  // /dev/null itself could not be opened for writing any more; it was, before the filter came.
  const long duplicate = Raw(SYS_dup, world.null_fd);
  context->uc_mcontext.gregs[REG_RAX] = duplicate;
  return true;
}

}  // namespace recrash::replay
