// What is not in the lists fails with ENOSYS, so that a library falls back to an older call where it has one (clone3,
// openat2). Calls that change files or other processes fail with EACCES, which programs know. Opening for writing is
// trapped: the handler gives /dev/null (sandbox.cc).
//
// What keeps a replay's processes together: none may leave its process group or session, and the group is killed at the
// end of the replay.
#include "testgen/replay/sandbox/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

namespace recrash::replay {
namespace {

constexpr uint32_t kNumber = offsetof(seccomp_data, nr);

// clang-format off
constexpr long kAllowed[] = {
    // Descriptors that there are, files that are read.
    SYS_read, SYS_readv, SYS_pread64, SYS_preadv, SYS_preadv2, SYS_write, SYS_writev, SYS_pwrite64, SYS_pwritev, SYS_pwritev2,
    SYS_close, SYS_close_range, SYS_lseek, SYS_dup, SYS_dup2, SYS_dup3, SYS_fcntl, SYS_flock, SYS_fsync, SYS_fdatasync,
    SYS_sync_file_range, SYS_ftruncate, SYS_fallocate, SYS_fadvise64, SYS_readahead, SYS_sendfile, SYS_copy_file_range, SYS_splice,
    SYS_tee, SYS_vmsplice, SYS_stat, SYS_fstat, SYS_lstat, SYS_newfstatat, SYS_statx, SYS_statfs, SYS_fstatfs, SYS_access,
    SYS_faccessat, SYS_faccessat2, SYS_readlink, SYS_readlinkat, SYS_getdents, SYS_getdents64, SYS_getcwd, SYS_chdir, SYS_fchdir,
    SYS_umask, SYS_memfd_create, SYS_pipe, SYS_pipe2, SYS_eventfd, SYS_eventfd2,
    // Memory.
    SYS_mmap, SYS_munmap, SYS_mremap, SYS_mprotect, SYS_brk, SYS_madvise, SYS_msync, SYS_mincore, SYS_mlock, SYS_mlock2, SYS_munlock,
    SYS_mlockall, SYS_munlockall, SYS_membarrier, SYS_get_mempolicy, SYS_pkey_alloc, SYS_pkey_free, SYS_pkey_mprotect,
    // Threads, and programs that a program starts.
    SYS_fork, SYS_vfork, SYS_execve, SYS_exit, SYS_exit_group, SYS_wait4, SYS_waitid, SYS_futex, SYS_set_tid_address,
    SYS_set_robust_list, SYS_get_robust_list, SYS_rseq, SYS_arch_prctl, SYS_sched_yield, SYS_sched_getaffinity, SYS_sched_getparam,
    SYS_sched_getscheduler, SYS_sched_get_priority_max, SYS_sched_get_priority_min, SYS_sched_rr_get_interval, SYS_getpriority,
    SYS_restart_syscall,
    // Who and where it is.
    SYS_getpid, SYS_getppid, SYS_gettid, SYS_getpgrp, SYS_getpgid, SYS_getsid, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid,
    SYS_getresuid, SYS_getresgid, SYS_getgroups, SYS_getrlimit, SYS_getrusage, SYS_times, SYS_sysinfo, SYS_uname, SYS_getcpu,
    SYS_capget, SYS_getrandom,
    // Signals to itself.
    SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_rt_sigsuspend, SYS_rt_sigpending, SYS_rt_sigtimedwait,
    SYS_sigaltstack, SYS_pause, SYS_alarm, SYS_setitimer, SYS_getitimer, SYS_timer_create, SYS_timer_settime, SYS_timer_gettime,
    SYS_timer_getoverrun, SYS_timer_delete, SYS_signalfd, SYS_signalfd4,
    // Clocks and waiting.
    SYS_clock_gettime, SYS_clock_getres, SYS_clock_nanosleep, SYS_nanosleep, SYS_gettimeofday, SYS_time, SYS_timerfd_create,
    SYS_timerfd_settime, SYS_timerfd_gettime, SYS_poll, SYS_ppoll, SYS_select, SYS_pselect6, SYS_epoll_create, SYS_epoll_create1,
    SYS_epoll_ctl, SYS_epoll_wait, SYS_epoll_pwait, SYS_epoll_pwait2,
    // Sockets without an address.
    SYS_socketpair, SYS_getsockopt, SYS_setsockopt, SYS_getsockname, SYS_getpeername, SYS_shutdown, SYS_recvfrom, SYS_recvmsg,
};

// What a program expects to be refused where it has no right.
constexpr long kRefused[] = {
    SYS_unlink, SYS_unlinkat, SYS_rmdir, SYS_rename, SYS_renameat, SYS_renameat2, SYS_mkdir, SYS_mkdirat, SYS_link, SYS_linkat,
    SYS_symlink, SYS_symlinkat, SYS_chmod, SYS_fchmod, SYS_fchmodat, SYS_chown, SYS_fchown, SYS_lchown, SYS_fchownat, SYS_truncate,
    SYS_mknod, SYS_mknodat, SYS_setxattr, SYS_lsetxattr, SYS_fsetxattr, SYS_removexattr, SYS_lremovexattr, SYS_fremovexattr,
    SYS_utimensat, SYS_futimesat, SYS_utimes, SYS_utime, SYS_mount, SYS_umount2, SYS_connect, SYS_bind, SYS_listen, SYS_accept,
    SYS_accept4, SYS_sendmsg, SYS_sendmmsg, SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_setsid, SYS_setpgid,
    SYS_shmget, SYS_shmat, SYS_shmctl, SYS_semget, SYS_semctl, SYS_msgget, SYS_msgctl, SYS_mq_open, SYS_mq_unlink,
};

// Of a terminal its size and its modes are read; nothing is put into its input, no modes are set.
constexpr uint32_t kReadingRequests[] = {TCGETS, TIOCGWINSZ, TIOCGPGRP, TIOCGSID, FIONREAD, FIONBIO, FIOASYNC, FIOCLEX, FIONCLEX};

// PR_SET_MM puts the break back before the call.
constexpr uint32_t kProcessOptions[] = {PR_SET_MM, PR_SET_NAME, PR_GET_NAME, PR_GET_DUMPABLE, PR_GET_PDEATHSIG, PR_SET_VMA,
                                        PR_GET_NO_NEW_PRIVS, PR_GET_SECCOMP, PR_CAPBSET_READ, PR_GET_TIMERSLACK, PR_GET_THP_DISABLE};
// clang-format on

constexpr uint32_t kNewNamespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |
                                    CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWTIME;

constexpr uint32_t LowHalf(int argument) {
  return static_cast<uint32_t>(offsetof(seccomp_data, args)) + static_cast<uint32_t>(argument) * 8;
}
constexpr uint32_t HighHalf(int argument) { return LowHalf(argument) + 4; }

constexpr uint32_t Fail(int error) { return SECCOMP_RET_ERRNO | static_cast<uint32_t>(error); }

class Builder {
 public:
  explicit Builder(Filter* filter) : filter_(filter) { filter_->size = 0; }

  void Begin() {
    Load(offsetof(seccomp_data, arch));
    Emit(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
    Return(Fail(ENOSYS));
    Load(kNumber);
  }

  void Return(uint32_t action) { Emit(BPF_RET | BPF_K, action); }

  void Answer(long number, uint32_t action) {
    Emit(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(number), 0, 1);
    Return(action);
  }

  // Of this call: `action` where a bit of `mask` is set in an argument, else it is allowed.
  void AnswerBits(long number, int argument, uint32_t mask, uint32_t action) {
    Emit(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(number), 0, 4);
    Load(LowHalf(argument));
    Emit(BPF_JMP | BPF_JSET | BPF_K, mask, 0, 1);
    Return(action);
    Return(SECCOMP_RET_ALLOW);
  }

  // Of this call: allowed where the argument is one of these values, else it fails.
  template <size_t count>
  void AllowValues(long number, int argument, const uint32_t (&values)[count], int error) {
    Emit(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(number), 0, static_cast<uint8_t>(count * 2 + 2));
    Load(LowHalf(argument));
    for (const uint32_t value : values) {
      Emit(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
      Return(SECCOMP_RET_ALLOW);
    }
    Return(Fail(error));
  }

  // Of this call: allowed where a pointer is null, else it fails.
  void AllowNull(long number, int argument, int error) {
    Emit(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(number), 0, 6);
    Load(LowHalf(argument));
    Emit(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3);
    Load(HighHalf(argument));
    Emit(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1);
    Return(SECCOMP_RET_ALLOW);
    Return(Fail(error));
  }

 private:
  void Emit(uint16_t code, uint32_t k, uint8_t jump_true = 0, uint8_t jump_false = 0) {
    if (filter_->size < kMostInstructions) filter_->instructions[filter_->size++] = {code, jump_true, jump_false, k};
  }
  void Load(uint32_t offset) { Emit(BPF_LD | BPF_W | BPF_ABS, offset); }

  Filter* filter_;
};

// Calls whose arguments decide.
void AddConditions(uint32_t self, Builder* builder) {
  constexpr uint32_t kWrites = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC;
  builder->AnswerBits(SYS_open, 1, kWrites, SECCOMP_RET_TRAP);
  builder->AnswerBits(SYS_openat, 2, kWrites, SECCOMP_RET_TRAP);
  builder->Answer(SYS_creat, SECCOMP_RET_TRAP);
  builder->AnswerBits(SYS_clone, 0, kNewNamespaces | CLONE_PARENT, Fail(EPERM));
  const uint32_t itself[] = {self};
  builder->AllowValues(SYS_kill, 0, itself, EPERM);
  builder->AllowValues(SYS_tgkill, 0, itself, EPERM);
  builder->AllowValues(SYS_tkill, 0, itself, EPERM);
  builder->AllowValues(SYS_rt_sigqueueinfo, 0, itself, EPERM);
  builder->AllowValues(SYS_rt_tgsigqueueinfo, 0, itself, EPERM);
  // Limits are read, and its own alone.
  builder->AllowNull(SYS_prlimit64, 2, EPERM);
  constexpr uint32_t kLocal[] = {AF_UNIX};
  builder->AllowValues(SYS_socket, 0, kLocal, EACCES);
  builder->AllowNull(SYS_sendto, 4, EACCES);
  builder->AllowValues(SYS_ioctl, 1, kReadingRequests, EACCES);
  builder->AllowValues(SYS_prctl, 0, kProcessOptions, EINVAL);
}

}  // namespace

void BuildFilter(uint32_t self, Filter* filter) {
  Builder builder(filter);
  builder.Begin();
  AddConditions(self, &builder);
  for (const long number : kAllowed) builder.Answer(number, SECCOMP_RET_ALLOW);
  for (const long number : kRefused) builder.Answer(number, Fail(EACCES));
  builder.Return(Fail(ENOSYS));
}

}  // namespace recrash::replay
