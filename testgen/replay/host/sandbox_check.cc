#include "testgen/replay/host/sandbox_check.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "testgen/replay/sandbox/isolation.h"

namespace recrash {
namespace {

enum Lack : int { kNoLandlock = 1, kNoNamespaces = 2, kAll = kNoLandlock | kNoNamespaces };

int Try() {
  int lacks = 0;
  if (!replay::LeaveNamespaces()) lacks |= kNoNamespaces;
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (!replay::RestrictFiles()) lacks |= kNoLandlock;
  return lacks;
}

// What cannot be tried counts as missing.
int TryInAProcess() {
  const pid_t child = fork();
  if (child == 0) _exit(Try());
  int status = 0;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : kAll;
}

}  // namespace

std::string WhatTheSandboxLacks() {
  switch (TryInAProcess()) {
    case 0:
      return "";
    case kNoLandlock:
      return "this machine has no Landlock: the list of system calls alone keeps replays from changing files";
    case kNoNamespaces:
      return "this machine allows no namespaces: the list of system calls alone keeps replays from its network";
    default:
      return "this machine has no Landlock and allows no namespaces: replays are held by the list of system calls "
             "alone";
  }
}

}  // namespace recrash
