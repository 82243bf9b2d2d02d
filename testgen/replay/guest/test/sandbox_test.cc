// What a replayed function may not do. Each test also sees that the call would succeed, or fail in another way, without
// the sandbox, or that another part of it answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "agent/base/signal_safe/left_out.h"
#include "testgen/verify/testing_replayed_program.h"

namespace recrash {
namespace {

// At the crash Attempt fails at once. When it is called again it goes through the rows, and exits with the number of
// the first that had another result than it is to have, or with 255. `find`: of the first that had that result.
std::string Attempts(const std::string& rows, const std::string& before = "", bool find = false) {
  return R"(
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cctype>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>
static bool again = false;
static long Try(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
  const long result = syscall(number, a, b, c, d, e, f);
  return result == -1 ? -errno : result;
}
template <typename T> static long Address(T* thing) { return reinterpret_cast<long>(thing); }
struct Row { long result; long expected; };
__attribute__((noinline)) int Attempt(const int* target) {
  if (!again) {
    again = true;
    return *target;
  }
  const long parent = getppid();
  const long self = getpid();
  (void)parent, (void)self;
)" + before +
         std::string("  constexpr bool kFind = ") + (find ? "true" : "false") + ";\n  const Row rows[] = {" + rows +
         R"(};
  int number = 0;
  for (const Row& row : rows) {
    const bool is_as_expected = row.result == row.expected || (row.expected == 1 && row.result >= 0);
    if (is_as_expected == kFind) _exit(number);
    ++number;
  }
  _exit(255);
}
int main(int argc, char**) { return Attempt(argc > 5 ? &argc : nullptr) + 1; }
)";
}

struct Denied {
  const char* call;
  const char* error;
};

// Arguments are such that no call would do harm if it were let through, and would not fail in this way.
constexpr Denied kDenied[] = {
    {"ioctl(pair[0], TIOCSTI, \"x\") == -1 ? -errno : 0", "-EACCES"},
    {"Try(SYS_fcntl, pair[0], F_SETOWN, parent)", "-EINVAL"},
    {"Try(SYS_fcntl, pair[0], 15 /* F_SETOWN_EX */, Address(owner))", "-EINVAL"},
    {"Try(SYS_fcntl, pair[0], 10 /* F_SETSIG */, SIGKILL)", "-EINVAL"},
    {"Try(SYS_fcntl, program, F_SETLEASE, F_RDLCK)", "-EINVAL"},
    {"Try(SYS_kill, parent)", "-EPERM"},
    {"Try(SYS_kill, -1)", "-EPERM"},
    {"Try(SYS_tgkill, parent, parent)", "-EPERM"},
    {"Try(SYS_tkill, parent)", "-EPERM"},
    {"Try(SYS_rt_sigqueueinfo, parent)", "-EPERM"},
    {"Try(SYS_rt_tgsigqueueinfo, parent, parent)", "-EPERM"},
    {"Try(SYS_pidfd_open, parent)", "-ENOSYS"},
    {"Try(SYS_pidfd_send_signal, -1)", "-ENOSYS"},
    {"Try(SYS_pidfd_getfd, -1)", "-ENOSYS"},
    {"Try(SYS_process_vm_readv, parent)", "-EACCES"},
    {"Try(SYS_process_vm_writev, parent)", "-EACCES"},
    {"Try(SYS_process_madvise, -1)", "-ENOSYS"},
    {"Try(SYS_kcmp, parent, parent, -1)", "-ENOSYS"},
    {"Try(SYS_ptrace, -1)", "-EACCES"},
    {"Try(SYS_prlimit64, parent, RLIMIT_NOFILE, Address(&limit))", "-EPERM"},
    {"Try(SYS_prlimit64, 0, RLIMIT_NOFILE, Address(&limit))", "-EPERM"},
    {"Try(SYS_setrlimit, -1)", "-ENOSYS"},
    {"Try(SYS_setpriority, -1)", "-ENOSYS"},
    {"Try(SYS_sched_setaffinity, -1)", "-ENOSYS"},
    {"Try(SYS_setsid)", "-EACCES"},
    {"Try(SYS_setpgid, -1)", "-EACCES"},
    {"Try(SYS_socket, AF_INET, SOCK_STREAM)", "-EACCES"},
    {"Try(SYS_socket, AF_NETLINK, SOCK_RAW)", "-EACCES"},
    {"Try(SYS_connect, pair[0])", "-EACCES"},
    {"Try(SYS_bind, pair[0])", "-EACCES"},
    {"Try(SYS_listen, -1)", "-EACCES"},
    {"Try(SYS_accept, -1)", "-EACCES"},
    {"Try(SYS_accept4, -1)", "-EACCES"},
    {"Try(SYS_sendto, -1, 0, 0, 0, Address(&address), sizeof address)", "-EACCES"},
    {"Try(SYS_sendmsg, -1)", "-EACCES"},
    {"Try(SYS_sendmmsg, -1)", "-EACCES"},
    {"Try(SYS_clone, CLONE_NEWUSER | SIGCHLD)", "-EPERM"},
    {"Try(SYS_clone, 0x8000 | SIGCHLD)", "-EPERM"},
    {"Try(SYS_clone3)", "-ENOSYS"},
    {"Try(SYS_unshare, -1)", "-ENOSYS"},
    {"Try(SYS_setns, -1)", "-ENOSYS"},
    {"Try(SYS_unlink)", "-EACCES"},
    {"Try(SYS_unlinkat)", "-EACCES"},
    {"Try(SYS_rmdir)", "-EACCES"},
    {"Try(SYS_rename)", "-EACCES"},
    {"Try(SYS_renameat)", "-EACCES"},
    {"Try(SYS_renameat2)", "-EACCES"},
    {"Try(SYS_mkdir)", "-EACCES"},
    {"Try(SYS_mkdirat)", "-EACCES"},
    {"Try(SYS_link)", "-EACCES"},
    {"Try(SYS_linkat)", "-EACCES"},
    {"Try(SYS_symlink)", "-EACCES"},
    {"Try(SYS_symlinkat)", "-EACCES"},
    {"Try(SYS_mknod)", "-EACCES"},
    {"Try(SYS_mknodat)", "-EACCES"},
    {"Try(SYS_truncate)", "-EACCES"},
    {"Try(SYS_chmod)", "-EACCES"},
    {"Try(SYS_fchmod, -1)", "-EACCES"},
    {"Try(SYS_fchmodat)", "-EACCES"},
    {"Try(452, -1)", "-ENOSYS"},  // fchmodat2
    {"Try(SYS_chown)", "-EACCES"},
    {"Try(SYS_fchown, -1)", "-EACCES"},
    {"Try(SYS_lchown)", "-EACCES"},
    {"Try(SYS_fchownat)", "-EACCES"},
    {"Try(SYS_utime)", "-EACCES"},
    {"Try(SYS_utimes)", "-EACCES"},
    {"Try(SYS_futimesat, -1, Address(\"/nothing\"))", "-EACCES"},
    {"Try(SYS_utimensat, -1, Address(\"/nothing\"))", "-EACCES"},
    {"Try(SYS_setxattr)", "-EACCES"},
    {"Try(SYS_lsetxattr)", "-EACCES"},
    {"Try(SYS_fsetxattr, -1)", "-EACCES"},
    {"Try(SYS_removexattr)", "-EACCES"},
    {"Try(SYS_lremovexattr)", "-EACCES"},
    {"Try(SYS_fremovexattr, -1)", "-EACCES"},
    {"Try(463, -1)", "-ENOSYS"},  // setxattrat
    {"Try(SYS_openat2, -1)", "-ENOSYS"},
    {"Try(SYS_open_by_handle_at, -1)", "-ENOSYS"},
    {"Try(SYS_name_to_handle_at, -1)", "-ENOSYS"},
    {"Try(SYS_open_tree, -1)", "-ENOSYS"},
    {"Try(SYS_move_mount, -1)", "-ENOSYS"},
    {"Try(SYS_fsopen)", "-ENOSYS"},
    {"Try(SYS_fsconfig, -1)", "-ENOSYS"},
    {"Try(SYS_fsmount, -1)", "-ENOSYS"},
    {"Try(SYS_fspick, -1)", "-ENOSYS"},
    {"Try(SYS_mount_setattr, -1)", "-ENOSYS"},
    {"Try(SYS_mount)", "-EACCES"},
    {"Try(SYS_umount2)", "-EACCES"},
    {"Try(SYS_pivot_root)", "-ENOSYS"},
    {"Try(SYS_chroot)", "-ENOSYS"},
    {"Try(SYS_mq_open)", "-EACCES"},
    {"Try(SYS_mq_unlink)", "-EACCES"},
    {"Try(SYS_shmget, 0, 0, 0)", "-EACCES"},
    {"Try(SYS_shmat, -1)", "-EACCES"},
    {"Try(SYS_shmctl, -1, -1)", "-EACCES"},
    {"Try(SYS_semget, 0, -1)", "-EACCES"},
    {"Try(SYS_semctl, -1, 0, -1)", "-EACCES"},
    {"Try(SYS_msgget, 12345)", "-EACCES"},
    {"Try(SYS_msgctl, -1, -1)", "-EACCES"},
    {"Try(SYS_execveat, -1)", "-ENOSYS"},
    {"Try(SYS_io_uring_setup, -1)", "-ENOSYS"},
    {"Try(SYS_io_setup, 0)", "-ENOSYS"},
    {"Try(SYS_bpf, -1)", "-ENOSYS"},
    {"Try(SYS_perf_event_open)", "-ENOSYS"},
    {"Try(SYS_userfaultfd, -1)", "-ENOSYS"},
    {"Try(SYS_keyctl, -1)", "-ENOSYS"},
    {"Try(SYS_add_key)", "-ENOSYS"},
    {"Try(SYS_request_key)", "-ENOSYS"},
    {"Try(SYS_syslog, -1)", "-ENOSYS"},
    {"Try(SYS_setuid, -1)", "-ENOSYS"},
    {"Try(SYS_setgroups, -1)", "-ENOSYS"},
    {"Try(SYS_capset)", "-ENOSYS"},
    {"Try(SYS_seccomp, -1)", "-ENOSYS"},
    {"Try(SYS_sethostname, 0, -1)", "-ENOSYS"},
    // None of our replays makes these, and programs do without them: libraries fall back to what is older.
    {"Try(SYS_splice, -1)", "-ENOSYS"},
    {"Try(SYS_tee, -1)", "-ENOSYS"},
    {"Try(SYS_vmsplice, -1)", "-ENOSYS"},
    {"Try(SYS_copy_file_range, -1, 0, -1)", "-ENOSYS"},
    {"Try(SYS_fallocate, -1)", "-ENOSYS"},
    {"Try(SYS_readahead, -1)", "-ENOSYS"},
    {"Try(SYS_sync_file_range, -1)", "-ENOSYS"},
    {"Try(SYS_preadv2, -1)", "-ENOSYS"},
    {"Try(SYS_pwritev2, -1)", "-ENOSYS"},
    {"Try(SYS_eventfd)", "-ENOSYS"},
    {"Try(SYS_signalfd, -1)", "-ENOSYS"},
    {"Try(SYS_signalfd4, -1)", "-ENOSYS"},
    {"Try(SYS_timer_create, -1)", "-ENOSYS"},
    {"Try(SYS_timer_settime, -1)", "-ENOSYS"},
    {"Try(SYS_timer_gettime, -1)", "-ENOSYS"},
    {"Try(SYS_timer_getoverrun, -1)", "-ENOSYS"},
    {"Try(SYS_timer_delete, -1)", "-ENOSYS"},
    {"Try(SYS_mlock2, 0, 0, -1)", "-ENOSYS"},
    {"Try(SYS_mlockall, -1)", "-ENOSYS"},
    {"Try(SYS_munlockall)", "-ENOSYS"},
    {"Try(SYS_membarrier, -1)", "-ENOSYS"},
    {"Try(SYS_pkey_alloc, -1)", "-ENOSYS"},
    {"Try(SYS_pkey_free, -1)", "-ENOSYS"},
    {"Try(SYS_pkey_mprotect, 1)", "-ENOSYS"},
    {"Try(SYS_get_robust_list, 0)", "-ENOSYS"},
    {"Try(SYS_getcpu)", "-ENOSYS"},
    {"Try(SYS_capget)", "-ENOSYS"},
    {"Try(SYS_getpriority, -1)", "-ENOSYS"},
    {"Try(SYS_sched_getparam, -1)", "-ENOSYS"},
    {"Try(SYS_sched_getscheduler, -1)", "-ENOSYS"},
    {"Try(SYS_sched_get_priority_max, -1)", "-ENOSYS"},
    {"Try(SYS_sched_get_priority_min, -1)", "-ENOSYS"},
    {"Try(SYS_sched_rr_get_interval, -1)", "-ENOSYS"},
    {"Try(SYS_prctl, PR_SET_PDEATHSIG, 0)", "-EINVAL"},
    {"Try(SYS_prctl, PR_SET_DUMPABLE, 1)", "-EINVAL"},
};

// What replays need goes on.
constexpr const char* kAllowed[] = {
    "Try(SYS_getpid)",
    "Try(SYS_kill, self)",
    "Try(SYS_tgkill, self, self)",
    "Try(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, Address(&limit))",
    "Try(SYS_open, Address(\"/etc/passwd\"), O_RDONLY)",
    "Try(SYS_open, Address(\"/nothing/at/all\"), O_CREAT | O_WRONLY, 0600)",  // /dev/null
    "Try(SYS_sendto, pair[0], Address(\"x\"), 1)",
    "Try(SYS_fcntl, pair[0], F_SETFL, O_NONBLOCK)",
    "Try(SYS_fcntl, pair[0], F_DUPFD_CLOEXEC, 100)",
    "Try(SYS_memfd_create, Address(\"x\"))",
    "Try(SYS_prctl, PR_SET_NAME, Address(\"x\"))",
    "Try(SYS_socket, AF_UNIX, SOCK_STREAM)",
};

constexpr char kThings[] = R"(
  int pair[2] = {-1, -1};
  socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
  rlimit limit{64, 64};
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const int owner[] = {1, static_cast<int>(parent)};  // F_OWNER_PID
  const int program = open("/proc/self/exe", O_RDONLY);
  (void)limit, (void)address, (void)owner, (void)program;
)";

std::string DeniedRows() {
  std::string rows;
  for (const Denied& row : kDenied) rows += std::string("{") + row.call + ", " + row.error + "},\n";
  return rows;
}

std::string AllowedRows() {
  std::string rows;
  for (const char* call : kAllowed) rows += std::string("{") + call + ", 1},\n";
  return rows;
}

constexpr char kAllAsExpected[] = "exit(255)";

VerifyOptions Testing() {
  VerifyOptions options;
  options.support_directory = RECRASH_TEST_REMEDIES_DIRECTORY;
  return options;
}

std::string RowOf(const std::string& note) {
  const size_t row = std::strtoul(note.c_str() + std::min(note.find('(') + 1, note.size()), nullptr, 10);
  return row < std::size(kDenied) ? kDenied[row].call : "none";
}

// The filter alone: Landlock and namespaces would answer some of these calls too.
TEST(Sandbox, RefusesWhatIsNotInItsList) {
  const ReplayedProgram program(Attempts(DeniedRows(), kThings));
  const auto check = [&] {
    const LeaveOut others("landlock,namespaces");
    const FrameVerdict verdict = program.Verify("Attempt", Testing());
    EXPECT_EQ(verdict.note, kAllAsExpected) << RowOf(verdict.note) << "\n" << program.text();
  };
  check();
  program.AsAnotherUser(check);
}

TEST(Sandbox, LetsThroughWhatReplaysNeed) {
  const ReplayedProgram program(Attempts(AllowedRows(), kThings));
  const auto check = [&] { EXPECT_EQ(program.Verify("Attempt").note, kAllAsExpected) << program.text(); };
  check();
  program.AsAnotherUser(check);
}

// Without the filter each row has another result: so each of them tests something.
TEST(Sandbox, IsWhatRefuses) {
  const ReplayedProgram program(Attempts(DeniedRows(), kThings, true));
  const LeaveOut all("filter,landlock,namespaces");
  const FrameVerdict verdict = program.Verify("Attempt", Testing());
  EXPECT_EQ(verdict.note, kAllAsExpected) << RowOf(verdict.note) << "\n" << program.text();
}

// Landlock alone: also a call that the filter does not know changes no file.
TEST(Sandbox, ChangesNoFileWhereTheFilterLetsItThrough) {
  TemporaryDirectory folder;
  chmod(folder.path().c_str(), 0777);
  std::ofstream(folder / "file") << "text";
  chmod((folder / "file").c_str(), 0666);
  const std::string file = "Address(\"" + (folder / "file") + "\")";
  const std::string other = "Address(\"" + (folder / "other") + "\")";
  const ReplayedProgram program(
      Attempts("{Try(SYS_open, " + file + ", O_WRONLY), -EACCES},\n{Try(SYS_truncate, " + file +
               ", 0), -EACCES},\n{Try(SYS_unlink, " + file + "), -EACCES},\n{Try(SYS_mkdir, " + other +
               ", 0700), -EACCES},\n{Try(SYS_open, " + other +
               ", O_CREAT | O_WRONLY, 0600), -EACCES},\n{Try(SYS_symlink, " + file + ", " + other +
               "), -EACCES},\n{Try(SYS_kill, parent, 0), -EPERM},\n{Try(SYS_open, " + file + ", O_RDONLY), 1}"));
  const auto check = [&] {
    const LeaveOut others("filter,namespaces");
    EXPECT_EQ(program.Verify("Attempt", Testing()).note, kAllAsExpected) << program.text();
  };
  check();
  program.AsAnotherUser(check);
  EXPECT_EQ(folder.names(), std::vector<std::string>{"file"});
  const LeaveOut all("filter,landlock,namespaces");
  EXPECT_NE(program.Verify("Attempt", Testing()).note, kAllAsExpected);
}

// Counts the interfaces: a new network has `lo` alone. Two lines are a heading.
TEST(Sandbox, HasANetworkOfItsOwnAndNoTerminal) {
  const ReplayedProgram program(
      Attempts("{lines, 3}, {Try(SYS_getsid), self}, {Try(SYS_open, Address(\"/dev/tty\"), O_RDONLY), "
               "-ENXIO}",
               R"(
  std::ifstream in("/proc/self/net/dev");
  long lines = 0;
  for (std::string line; std::getline(in, line);) ++lines;
)"));
  const auto check = [&] { EXPECT_EQ(program.Verify("Attempt").note, kAllAsExpected) << program.text(); };
  check();
  program.AsAnotherUser(check);
}

// It sees itself and the first of these numbers (sandbox/namespaces.h). Small numbers would be those of threads that
// died in a container.
TEST(Sandbox, HasProcessNumbersOfItsOwn) {
  const ReplayedProgram program(Attempts("{processes, 2}, {parent, 0}, {self <= 100, 0}", R"(
  long processes = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc"))
    processes += std::isdigit(entry.path().filename().string()[0]) != 0;
)"));
  VerifyOptions alone = Testing();
  alone.jobs = 1;
  const auto check = [&] { EXPECT_EQ(program.Verify("Attempt", alone).note, kAllAsExpected) << program.text(); };
  check();
  program.AsAnotherUser(check);
  const LeaveOut numbers("process_numbers");
  EXPECT_EQ(program.Verify("Attempt", alone).note, "exit(0)");
}

// Processes are counted for users alone who have a namespace of their own.
TEST(Sandbox, LimitsFilesMemoryAndProcesses) {
  const std::string limits =
      "{Try(SYS_ftruncate, file, 65 << 20), -EFBIG}, {Try(SYS_ftruncate, file, 63 << 20), 0}, "
      "{Try(SYS_mmap, 0, 5L << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1), -ENOMEM}";
  const std::string begin = R"(
  signal(SIGXFSZ, SIG_IGN);
  const long file = Try(SYS_memfd_create, Address("x"));
)";
  const ReplayedProgram program(Attempts(limits, begin));
  VerifyOptions alone;
  alone.jobs = 1;
  const auto check = [&](const ReplayedProgram& one) {
    EXPECT_EQ(one.Verify("Attempt", alone).note, kAllAsExpected) << one.text();
  };
  check(program);
  program.AsAnotherUser([&] { check(program); });
  const ReplayedProgram many(Attempts("{processes >= 512, 0}, {processes < 100, 0}", R"(
  long processes = 0;
  for (pid_t child = 0; processes < 600 && (child = fork()) >= 0; ++processes)
    if (child == 0) for (;;) pause();
)"));
  many.AsAnotherUser([&] { check(many); });
}

// Files without a name take memory that no limit of a process counts. Where memory gets short the kernel ends a replay,
// not what else the developer runs.
TEST(Sandbox, IsWhatTheKernelEndsFirst) {
  const ReplayedProgram program(Attempts("{of_process, 1000}, {of_child, 1000}", R"(
  const auto read = [](const std::string& process) {
    std::ifstream in("/proc/" + process + "/oom_score_adj");
    long adjustment = -1;
    in >> adjustment;
    return adjustment;
  };
  const long of_process = read("self");
  const pid_t child = fork();
  if (child == 0) for (;;) pause();
  const long of_child = read(std::to_string(child));
)"));
  const auto check = [&] { EXPECT_EQ(program.Verify("Attempt").note, kAllAsExpected) << program.text(); };
  check();
  program.AsAnotherUser(check);
}

// The process that starts replays is outside the sandbox, and works off what lies in memory that it shares with the
// tool. A replay that could write there could make it read and write anywhere.
TEST(Sandbox, HasNoMemoryThatTheToolBelieves) {
  const std::string shared = R"(
  long shared = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    shared += line.find("recrash-queue") != std::string::npos || line.find("recrash-inquiries") != std::string::npos;
)";
  ReplayedProgram program(Attempts("{shared, 0}", shared));
  const auto check = [&](const VerifyOptions& options) {
    EXPECT_THAT(program.Verify("Attempt", options).note, testing::StartsWith(kAllAsExpected)) << program.text();
  };
  VerifyOptions rebuilt;
  rebuilt.program = program.Rebuild("int g_more = 1;\n" + Attempts("{shared, 0}", shared));
  check({});
  check(rebuilt);
  program.AsAnotherUser([&] { check({}); });
}

// Whether no process has this in its command line, within a second.
bool Ends(const std::string& program) {
  for (int wait = 0; wait < 50; ++wait) {
    int left = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      std::ifstream in(entry.path() / "cmdline");
      std::string line;
      std::getline(in, line);
      left += line.find(program) != std::string::npos;
    }
    if (left == 0) return true;
    usleep(20000);
  }
  return false;
}

// A process that a replay has started ends with it, whatever it tries.
TEST(Sandbox, LeavesNoProcessBehind) {
  const ReplayedProgram program(Attempts("{1, 1}", R"(
  if (fork() == 0) {
    setsid();
    setpgid(0, 0);
    if (fork() == 0) setsid();
    for (;;) pause();
  }
)"));
  const auto check = [&] {
    EXPECT_EQ(program.Verify("Attempt").note, kAllAsExpected) << program.text();
    EXPECT_TRUE(Ends(program.fixture().path())) << "processes of the replay are left";
  };
  check();
  program.AsAnotherUser(check);
}

}  // namespace
}  // namespace recrash
