// launch SURROUNDINGS ANSWER PROGRAM ARGUMENT...: starts a program in surroundings that it cannot make itself, waits
// for it, and writes into the file ANSWER how it ended and how many processes it left, as JSON. What it left is ended.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace {

constexpr int kRefused = 77;  // the machine does not allow these surroundings

int g_answer;

void Refuse(const char* what) {
  dprintf(g_answer, "{\"refused\": \"%s: %s\"}\n", what, strerror(errno));
  _exit(kRefused);
}

// A filter that is put together call by call, and lets through what it does not name.
class Filter {
 public:
  Filter() { Add(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))); }
  void Forbid(std::initializer_list<long> calls, int error = EPERM) {
    for (const long call : calls) {
      Add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(call), 0, 1));
      Add(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<uint32_t>(error)));
    }
  }
  // Where one of the bits is set in the call's argument.
  void ForbidFlags(long call, int argument, uint32_t bits) {
    AddArgument(call, argument, BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1));
  }
  // Where the call's argument is another one.
  void ForbidAllBut(long call, int argument, uint32_t value) {
    AddArgument(call, argument, BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 1, 0));
  }
  void Install() {
    Add(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    sock_fprog program = {count_, code_};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
      Refuse("seccomp");
  }

 private:
  void Add(sock_filter one) { code_[count_++] = one; }
  // `test` leads to the next line where the call is forbidden.
  void AddArgument(long call, int argument, sock_filter test) {
    Add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(call), 0, 4));
    Add(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offsetof(seccomp_data, args) + 8 * argument)));
    Add(test);
    Add(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
    Add(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
  }

  sock_filter code_[256];
  unsigned short count_ = 0;
};

constexpr uint32_t kNewNamespaces =
    CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

// Also what Yama's ptrace_scope 2 and 3 come to.
void ForbidPtrace() {
  Filter filter;
  filter.Forbid({SYS_ptrace, SYS_process_vm_readv});
  filter.Install();
}

// What Docker's default profile denies to a container without capabilities (moby/profiles, default.json). Of `old`: on
// a kernel before 4.8, or an old Docker.
void LimitAsDockerDoes(bool old) {
  Filter filter;
  filter.Forbid({SYS_acct,
                 SYS_add_key,
                 SYS_bpf,
                 SYS_clock_adjtime,
                 SYS_clock_settime,
                 SYS_delete_module,
                 SYS_finit_module,
                 SYS_get_mempolicy,
                 SYS_init_module,
                 SYS_ioperm,
                 SYS_iopl,
                 SYS_kcmp,
                 SYS_kexec_load,
                 SYS_keyctl,
                 SYS_mbind,
                 SYS_mount,
                 SYS_move_pages,
                 SYS_open_by_handle_at,
                 SYS_perf_event_open,
                 SYS_pivot_root,
                 SYS_quotactl,
                 SYS_reboot,
                 SYS_request_key,
                 SYS_set_mempolicy,
                 SYS_setns,
                 SYS_settimeofday,
                 SYS_swapoff,
                 SYS_swapon,
                 SYS_sysfs,
                 SYS_umount2,
                 SYS_unshare,
                 SYS_uselib,
                 SYS_userfaultfd,
                 SYS_ustat,
                 SYS_vhangup});
  filter.Forbid({SYS_clone3}, ENOSYS);
  filter.ForbidFlags(SYS_clone, 0, kNewNamespaces);
  filter.ForbidAllBut(SYS_personality, 0, 0xffffffff);
  if (old) filter.Forbid({SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev});
  filter.Install();
}

// What Flatpak denies to an app that is no developer's tool (flatpak-run.c, setup_seccomp).
void LimitAsFlatpakDoes() {
  Filter filter;
  filter.Forbid({SYS_syslog,        SYS_uselib,        SYS_acct,       SYS_quotactl,        SYS_add_key,
                 SYS_keyctl,        SYS_request_key,   SYS_move_pages, SYS_mbind,           SYS_get_mempolicy,
                 SYS_set_mempolicy, SYS_migrate_pages, SYS_unshare,    SYS_setns,           SYS_mount,
                 SYS_umount2,       SYS_pivot_root,    SYS_chroot,     SYS_perf_event_open, SYS_ptrace});
  filter.Forbid({SYS_clone3, SYS_open_tree, SYS_move_mount, SYS_fsopen, SYS_fsconfig, SYS_fsmount, SYS_fspick}, ENOSYS);
  filter.ForbidFlags(SYS_clone, 0, CLONE_NEWUSER);
  filter.ForbidAllBut(SYS_personality, 0, 0);
  filter.Install();
}

void Write(const char* path, const char* format, unsigned id) {
  const int file = open(path, O_WRONLY);
  dprintf(file, format, id, id);
  close(file);
}

// What is mounted from here on nobody else sees. As a user, in a user namespace of its own.
void HaveOwnMounts() {
  const unsigned user = geteuid();
  const unsigned group = getegid();
  if (unshare(user == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS) != 0) Refuse("unshare");
  if (user != 0) {
    Write("/proc/self/setgroups", "deny", 0);
    Write("/proc/self/uid_map", "%u %u 1", user);
    Write("/proc/self/gid_map", "%u %u 1", group);
  }
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) Refuse("mount");
}

void HideProc() {
  HaveOwnMounts();
  if (mount("none", "/proc", "tmpfs", 0, nullptr) != 0) Refuse("mount");
}

// ---- A disk with little room: a small file system over the folder of reports, whose files are moved out at the end.

int g_real_reports = -1;

void LimitDisk() {
  const char* reports = getenv("RECRASH_DIR");
  g_real_reports = reports != nullptr ? open(reports, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
  if (g_real_reports < 0) Refuse("RECRASH_DIR");
  HaveOwnMounts();
  if (mount("none", reports, "tmpfs", 0, "size=16k,mode=0700") != 0) Refuse("mount");
}

void CopyFile(int from, int to) {
  char bytes[4096];
  ssize_t size;
  while ((size = read(from, bytes, sizeof bytes)) > 0)
    if (write(to, bytes, static_cast<size_t>(size)) != size) return;
}

void MoveReportsOut() {
  const char* reports = getenv("RECRASH_DIR");
  DIR* small = reports != nullptr ? opendir(reports) : nullptr;
  while (const dirent* entry = small != nullptr ? readdir(small) : nullptr) {
    if (entry->d_type != DT_REG) continue;
    const int from = openat(dirfd(small), entry->d_name, O_RDONLY);
    const int to = openat(g_real_reports, entry->d_name, O_WRONLY | O_CREAT | O_EXCL, 0600);
    CopyFile(from, to);
    close(from);
    close(to);
  }
  if (small != nullptr) closedir(small);
}

// ---- Little memory for the program and its collector together.

char g_group[128];

bool WriteInGroup(const char* name, const char* text) {
  char path[256];
  snprintf(path, sizeof path, "%s/%s", g_group, name);
  const int file = open(path, O_WRONLY | O_CLOEXEC);
  const ssize_t length = static_cast<ssize_t>(strlen(text));
  const bool wrote = file >= 0 && write(file, text, strlen(text)) == length;
  if (file >= 0) close(file);
  return wrote;
}

void MakeGroup() {
  const struct {
    const char* folder;
    const char* limit;
  } versions[] = {{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"}, {"/sys/fs/cgroup", "memory.max"}};
  for (const auto& version : versions) {
    snprintf(g_group, sizeof g_group, "%s/recrash-deaths-%d", version.folder, getpid());
    if (mkdir(g_group, 0700) != 0) continue;
    if (WriteInGroup(version.limit, "25165824")) return;
    rmdir(g_group);
  }
  g_group[0] = 0;
  Refuse("no control group for memory");
}

void EnterGroup() {
  if (!WriteInGroup("cgroup.procs", "0")) Refuse("control group");
}

// Of a process that has just ended the group may have something for a while.
void RemoveGroup() {
  for (int i = 0; i < 500 && rmdir(g_group) != 0; ++i) usleep(2000);
}

void Surround(const char* name) {
  if (g_group[0] != 0) EnterGroup();
  if (strcmp(name, "no_ptrace") == 0) ForbidPtrace();
  if (strcmp(name, "docker") == 0) LimitAsDockerDoes(false);
  if (strcmp(name, "old_docker") == 0) LimitAsDockerDoes(true);
  if (strcmp(name, "flatpak") == 0) LimitAsFlatpakDoes();
  if (strcmp(name, "no_proc") == 0) HideProc();
  if (strcmp(name, "closed_stderr") == 0) close(STDERR_FILENO);
}

void Become(char** words) {
  const rlim_t largest = strcmp(words[1], "no_core") == 0 ? 0 : RLIM_INFINITY;
  const rlimit core = {largest, largest};
  const rlimit stack = {1 << 20, RLIM_INFINITY};
  setrlimit(RLIMIT_CORE, &core);
  setrlimit(RLIMIT_STACK, &stack);
  // As a shell ignores SIGINT and SIGQUIT for what runs behind it.
  for (int number = 1; number < NSIG; ++number) signal(number, SIG_DFL);
  Surround(words[1]);
  execv(words[3], words + 3);
  Refuse(words[3]);
}

double Seconds() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

// Processes that the program has left are children of this one, its subreaper. What is about to end has half a second.
int EndWhatIsLeft() {
  int left = 0;
  for (const double limit = Seconds() + 0.5; Seconds() < limit; usleep(1000)) {
    pid_t ended;
    while ((ended = waitpid(-1, nullptr, WNOHANG)) > 0) {
    }
    if (ended < 0) return 0;
  }
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%d/children", getpid());
  for (int round = 0; round < 100; ++round) {
    FILE* children = fopen(path, "r");
    int child = 0;
    int found = 0;
    while (children != nullptr && fscanf(children, "%d", &child) == 1) {
      kill(child, SIGKILL);
      ++found;
    }
    if (children != nullptr) fclose(children);
    while (waitpid(-1, nullptr, found != 0 ? 0 : WNOHANG) > 0 && found-- > 0) ++left;
    if (found <= 0) break;
  }
  return left;
}

}  // namespace

int main(int count, char** words) {
  if (count < 4) return 2;
  g_answer = open(words[2], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  if (strcmp(words[1], "small_disk") == 0) LimitDisk();
  if (strcmp(words[1], "small_group") == 0) MakeGroup();
  const double begin = Seconds();
  const pid_t child = fork();
  if (child == 0) Become(words);
  int status = 0;
  while (waitpid(child, &status, 0) != child) {
  }
  const double seconds = Seconds() - begin;
  const int left = EndWhatIsLeft();
  if (g_group[0] != 0) RemoveGroup();
  if (WIFEXITED(status) && WEXITSTATUS(status) == kRefused) return kRefused;
  if (g_real_reports >= 0) MoveReportsOut();
  dprintf(g_answer, "{\"exit\": %d, \"signal\": %d, \"core\": %d, \"left\": %d, \"seconds\": %.4f}\n",
          WIFEXITED(status) ? WEXITSTATUS(status) : -1, WIFSIGNALED(status) ? WTERMSIG(status) : 0,
          WIFSIGNALED(status) && WCOREDUMP(status) ? 1 : 0, left, seconds);
  return 0;
}
