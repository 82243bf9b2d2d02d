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

// What replays have been seen to make: those of the evaluation, of the tests' programs, and of what they start
// (docs/measurements/replay_calls.json; tests/real/replay_calls.py counts, and its test compares).
constexpr long kMade[] = {
    SYS_access, SYS_arch_prctl, SYS_brk, SYS_chdir, SYS_clock_gettime, SYS_clock_nanosleep, SYS_close, SYS_dup, SYS_dup2,
    SYS_dup3, SYS_execve, SYS_exit, SYS_exit_group, SYS_faccessat2, SYS_fadvise64, SYS_fchdir, SYS_futex, SYS_getcwd,
    SYS_getdents64, SYS_getegid, SYS_geteuid, SYS_getgid, SYS_getpid, SYS_getppid, SYS_getrandom, SYS_gettid, SYS_getuid,
    SYS_lseek, SYS_madvise, SYS_memfd_create, SYS_mmap, SYS_mprotect, SYS_munmap, SYS_nanosleep, SYS_newfstatat, SYS_pause,
    SYS_pipe2, SYS_pread64, SYS_pwrite64, SYS_read, SYS_readlink, SYS_rseq, SYS_rt_sigaction, SYS_rt_sigprocmask,
    SYS_rt_sigreturn, SYS_sched_yield, SYS_sendfile, SYS_set_robust_list, SYS_set_tid_address, SYS_setitimer, SYS_sigaltstack,
    SYS_vfork, SYS_wait4, SYS_write, SYS_writev,
};

// What none of those replays makes. All of it works on what the process has, or reads what the process may read anyway.
constexpr long kKept[] = {
    // Other names of what is made: which of them a function of the C library makes depends on its version.
    SYS_stat, SYS_fstat, SYS_lstat, SYS_statx, SYS_faccessat, SYS_readlinkat, SYS_getdents, SYS_readv, SYS_preadv,
    SYS_pwritev, SYS_fork, SYS_waitid, SYS_getrlimit, SYS_mremap, SYS_close_range,
    // Databases make these on files of theirs, and take a failure for a broken disk. Such a file is /dev/null here.
    SYS_fsync, SYS_fdatasync, SYS_flock, SYS_ftruncate, SYS_msync, SYS_statfs, SYS_fstatfs,
    // Libraries for secrets lock their pages, and refuse to work if they cannot; unwinders ask whether a page is there.
    SYS_mlock, SYS_munlock, SYS_mincore,
    // Threads and event loops wait, for time or for each other: a frame around a loop goes through it.
    SYS_poll, SYS_ppoll, SYS_select, SYS_pselect6, SYS_epoll_create, SYS_epoll_create1, SYS_epoll_ctl, SYS_epoll_wait,
    SYS_epoll_pwait, SYS_epoll_pwait2, SYS_eventfd2, SYS_pipe, SYS_timerfd_create, SYS_timerfd_settime,
    SYS_timerfd_gettime, SYS_alarm, SYS_getitimer, SYS_rt_sigsuspend, SYS_rt_sigtimedwait, SYS_rt_sigpending,
    // The kernel makes it in place of a call that a signal interrupted.
    SYS_restart_syscall,
    // A program asks who and where it is, how late it is, and what it has used. A failure is what no program expects.
    SYS_getpgrp, SYS_getpgid, SYS_getsid, SYS_getresuid, SYS_getresgid, SYS_getgroups, SYS_getrusage, SYS_times, SYS_sysinfo,
    SYS_uname, SYS_umask, SYS_time, SYS_gettimeofday, SYS_clock_getres, SYS_sched_getaffinity,
    // A program talks with itself by sockets without an address; with a condition are `socket` and `sendto`.
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

constexpr long kWatched[] = {SYS_read, SYS_readv, SYS_pread64, SYS_preadv, SYS_recvfrom, SYS_recvmsg};

// Of a terminal its size and its modes are read; nothing is put into its input, no modes are set.
constexpr uint32_t kReadingRequests[] = {TCGETS, TIOCGWINSZ, TIOCGPGRP, TIOCGSID, FIONREAD, FIONBIO, FIOASYNC, FIOCLEX, FIONCLEX};

// Of a descriptor what concerns the process alone. F_SETOWN and F_SETSIG would have the kernel send any signal to any
// process of the user; F_SETLEASE would hold up whoever opens the file.
constexpr uint32_t kDescriptorCommands[] = {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_GETLK, F_SETLK, F_SETLKW,
                                            F_OFD_GETLK, F_OFD_SETLK, F_OFD_SETLKW, F_GETPIPE_SZ, F_SETPIPE_SZ, F_ADD_SEALS, F_GET_SEALS};

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

  // Of this call: trapped where the first argument is one of these values, else it is allowed.
  void TrapValues(long number, const uint32_t* values, int count) {
    static_assert(kMostWatched * 2 + 2 <= UINT8_MAX, "a jump");
    Emit(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(number), 0, static_cast<uint8_t>(count * 2 + 2));
    Load(LowHalf(0));
    for (int i = 0; i < count; ++i) {
      Emit(BPF_JMP | BPF_JEQ | BPF_K, values[i], 0, 1);
      Return(SECCOMP_RET_TRAP);
    }
    Return(SECCOMP_RET_ALLOW);
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
  // A program fails by signalling itself; which of these does it depends on the C library's version.
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
  builder->AllowValues(SYS_fcntl, 1, kDescriptorCommands, EINVAL);
  builder->AllowValues(SYS_prctl, 0, kProcessOptions, EINVAL);
}

}  // namespace

bool IsWatchedCall(long number) {
  for (const long watched : kWatched) {
    if (watched == number) return true;
  }
  return false;
}

void BuildFilter(uint32_t self, const WatchedDescriptors& watched, Filter* filter) {
  Builder builder(filter);
  builder.Begin();
  for (const long number : kWatched) {
    if (watched.count > 0) builder.TrapValues(number, watched.numbers, watched.count);
  }
  AddConditions(self, &builder);
  for (const long number : kMade) builder.Answer(number, SECCOMP_RET_ALLOW);
  for (const long number : kKept) builder.Answer(number, SECCOMP_RET_ALLOW);
  for (const long number : kRefused) builder.Answer(number, Fail(EACCES));
  builder.Return(Fail(ENOSYS));
}

}  // namespace recrash::replay
