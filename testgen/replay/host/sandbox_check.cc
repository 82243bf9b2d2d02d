#include "testgen/replay/host/sandbox_check.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "testgen/replay/sandbox/landlock.h"
#include "testgen/replay/sandbox/namespaces.h"

namespace recrash {
namespace {

enum Lack : int { kNoLandlock = 1, kNoNamespaces = 2, kNoNumbers = 4 };

int TryNamespaces() {
  const replay::Namespaces namespaces = replay::MakeNamespaces();
  if (!namespaces.kinds) return kNoNamespaces;
  return HaveNumbers(namespaces) ? 0 : kNoNumbers;
}

int TryLandlock() {
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  return replay::RestrictFiles() ? 0 : kNoLandlock;
}

// What cannot be tried counts as missing.
int TryInAProcess(int (*attempt)(), int all) {
  const pid_t child = fork();
  if (child == 0) _exit(attempt());
  int status = 0;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : all;
}

// A process that Landlock holds may signal none outside, and its end counts as a signal: the holder of namespaces that
// it has made would live on. So each is tried in a process of its own.
int TryAll() { return TryInAProcess(TryNamespaces, kNoNamespaces) | TryInAProcess(TryLandlock, kNoLandlock); }

}  // namespace

std::string WhatTheSandboxLacks() {
  constexpr struct {
    int lack;
    const char* what;
    const char* against;
  } kLacks[] = {{kNoLandlock, "Landlock", "changing files"},
                {kNoNamespaces, "namespaces", "its network and its processes"},
                {kNoNumbers, "namespace of process numbers", "its processes"}};
  const int lacks = TryAll();
  std::string what;
  std::string against;
  for (const auto& row : kLacks) {
    if (!(lacks & row.lack)) continue;
    what += std::string(what.empty() ? "no " : " and no ") + row.what;
    against += std::string(against.empty() ? "" : ", ") + row.against;
  }
  if (what.empty()) return "";
  return "this machine has " + what + ": the list of system calls alone keeps replays from " + against;
}

}  // namespace recrash
