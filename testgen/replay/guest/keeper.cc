#include "testgen/replay/guest/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/base/signal_safe/left_out.h"
#include "testgen/replay/guest/raw.h"
#include "testgen/replay/guest/world.h"

namespace recrash::replay {
namespace {

// What the terminal sends (Ctrl-C) must not reach it: hence a session of its own. It holds nothing that is not its own,
// the write end of its pipe least of all.
[[noreturn]] void BecomeShell(int read_end) {
  char shell[] = "/bin/sh";
  char option[] = "-c";
  char script[] = "read line; rm -rf -- \"$0\"";
  char path[] = "PATH=/usr/bin:/bin";
  char* const arguments[] = {shell, option, script, world.keeper.folder, nullptr};
  char* const environment[] = {path, nullptr};
  constexpr long kCloseRange = 436;
  Raw(SYS_setsid);
  Raw(SYS_dup2, read_end, 0);
  Raw(SYS_dup2, world.null_fd, 1);
  Raw(SYS_dup2, world.null_fd, 2);
  Raw(kCloseRange, 3, ~0u);
  Raw(SYS_chdir, "/");
  Raw(SYS_execve, shell, arguments, environment);
  ExitNow(0);
}

// Without a signal at its end, so that no wait of the program's finds it, and CLONE_UNTRACED, lest a debugger tells of
// it. Where it cannot be started a killed replay leaves its folder.
void StartKeeper() {
  int ends[2];
  if (LeftOut("keeper") || pipe2(ends, O_CLOEXEC) != 0) return;
  const int write_end = fcntl(ends[1], F_DUPFD_CLOEXEC, 500);
  close(ends[1]);
  const long child = write_end < 0 ? -1 : Raw(SYS_clone, CLONE_UNTRACED);
  if (child == 0) BecomeShell(ends[0]);
  close(ends[0]);
  if (child > 0) world.keeper.process = static_cast<pid_t>(child);
}

}  // namespace

bool IsFolder(const char* path) {
  struct stat status;
  return *path == '/' && stat(path, &status) == 0 && S_ISDIR(status.st_mode) && access(path, X_OK) == 0;
}

const char* KeptFolder() {
  if (*world.keeper.folder) return world.keeper.folder;
  const char* temporary = getenv("TMPDIR");
  snprintf(world.keeper.folder, sizeof world.keeper.folder, "%s/recrash-empty-XXXXXX",
           IsFolder(temporary ? temporary : "") ? temporary : "/tmp");
  if (!mkdtemp(world.keeper.folder)) Problem("cannot make a folder like %s: %s", world.keeper.folder, strerror(errno));
  StartKeeper();
  return world.keeper.folder;
}

void RemoveKeptFolder() {
  // Something in it is the program's own, of a run in place: that is removed too, by the keeper.
  if (!*world.keeper.folder || rmdir(world.keeper.folder) != 0 || world.keeper.process <= 0) return;
  kill(world.keeper.process, SIGKILL);
  while (waitpid(world.keeper.process, nullptr, __WALL) < 0 && errno == EINTR) {
  }
}

}  // namespace recrash::replay
