// What is scarce or forbidden by the time the program dies. launch.cc has the surroundings that it starts in.
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <recrash/recrash.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "deaths.h"

namespace deaths {
namespace {

void Usual(const Box&) {}

void Undumpable(const Box&) { prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }

void UndumpableButReported(const Box&) {
  RECRASH_KEEP_MEMORY(1);
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

void AllDescriptorsUsed(const Box&) {
  const rlimit limit = {64, 64};
  setrlimit(RLIMIT_NOFILE, &limit);
  while (open("/dev/null", O_RDONLY) >= 0) {
  }
}

void LimitToUse(__rlimit_resource resource, rlim_t bytes) {
  const rlimit limit = {bytes, bytes};
  setrlimit(resource, &limit);
}
void NoMoreAddresses(const Box&) { LimitToUse(RLIMIT_AS, 1 << 20); }
void NoMoreData(const Box&) { LimitToUse(RLIMIT_DATA, 1 << 10); }
void NoProcesses(const Box&) { LimitToUse(RLIMIT_NPROC, 0); }
// Soft, as a shell's `ulimit -f` sets both: SIGXFSZ is left out of it by the client.
void SmallFiles(const Box&) {
  const rlimit limit = {1 << 10, RLIM_INFINITY};
  setrlimit(RLIMIT_FSIZE, &limit);
}

void Forbid(long call, uint32_t action) {
  sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(call), 0, 1),
                        BPF_STMT(BPF_RET | BPF_K, action), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  sock_fprog program = {4, code};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
}
void NoExec(const Box&) {
  Forbid(SYS_execve, SECCOMP_RET_ERRNO | EPERM);
  Forbid(SYS_execveat, SECCOMP_RET_ERRNO | EPERM);
}

const struct {
  const char* name;
  void (*set)(const Box&);
} kSurroundings[] = {{"usual", Usual},
                     {"undumpable", Undumpable},
                     {"undumpable_kept", UndumpableButReported},
                     {"descriptors", AllDescriptorsUsed},
                     {"addresses", NoMoreAddresses},
                     {"data", NoMoreData},
                     {"processes", NoProcesses},
                     {"small_files", SmallFiles},
                     {"no_exec", NoExec}};

}  // namespace

void (*FindSurroundings(const char* name))(const Box&) {
  for (const auto& each : kSurroundings)
    if (strcmp(each.name, name) == 0) return each.set;
  return nullptr;
}

void Say(const char* format, ...) {
  char line[256];
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  if (write(STDOUT_FILENO, line, static_cast<size_t>(length)) < 0) return;
}

}  // namespace deaths
