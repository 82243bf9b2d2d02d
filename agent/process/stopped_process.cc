// PTRACE_SEIZE and PTRACE_INTERRUPT rather than PTRACE_ATTACH: no SIGSTOP is left behind, and if this process dies the
// kernel lets all threads go on. New threads may appear while others are being stopped, so the list of threads is read
// again until it holds no new one.
#include "agent/process/stopped_process.h"

#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "agent/base/signal_safe/register_order.h"
#include "agent/process/proc_files.h"

namespace recrash {
namespace {

// A thread in an uninterruptible wait does not stop; half a second is more than any other takes.
constexpr int kPatienceMs = 500;

void Sleep(long microseconds) {
  timespec time = {0, microseconds * 1000};
  nanosleep(&time, nullptr);
}

Registers ReadRegisters(pid_t tid) {
  Registers registers;
  user_regs_struct general = {};
  if (ptrace(PTRACE_GETREGS, tid, nullptr, &general) == 0) {
    std::ranges::transform(kPtraceRegisters, registers.dwarf.begin(), [&](auto member) { return general.*member; });
    registers.fs_base = general.fs_base;
    registers.eflags = general.eflags;
  }
  user_fpregs_struct floating = {};
  static_assert(sizeof floating == 512);
  if (ptrace(PTRACE_GETFPREGS, tid, nullptr, &floating) == 0) {
    registers.fxsave.resize(sizeof floating);
    std::memcpy(registers.fxsave.data(), &floating, sizeof floating);
  }
  return registers;
}

}  // namespace

StoppedProcess::StoppedProcess(StoppedProcess&& other) noexcept
    : pid_(other.pid_), threads_(std::move(other.threads_)) {
  other.threads_.clear();
}

StoppedProcess::Held StoppedProcess::Hold(pid_t tid) {
  if (ptrace(PTRACE_SEIZE, tid, nullptr, nullptr) != 0) return errno == ESRCH ? Held::kGone : Held::kRefused;
  ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr);
  for (int waited = 0; waited < kPatienceMs * 10; ++waited) {
    int status = 0;
    const pid_t found = waitpid(tid, &status, __WALL | WNOHANG);
    if (found == tid) {
      if (!WIFSTOPPED(status)) return Held::kGone;
      // PTRACE_EVENT_STOP is ours; otherwise a signal was on its way and must be given back.
      threads_[tid] = status >> 16 == 0 ? WSTOPSIG(status) : 0;
      return Held::kYes;
    }
    if (found < 0 && errno != EINTR) return Held::kGone;
    Sleep(100);
  }
  return Held::kBusy;
}

Result<StoppedProcess> StoppedProcess::Attach(pid_t pid, pid_t failing, std::vector<std::string>* losses) {
  StoppedProcess process(pid);
  if (process.Hold(failing) != Held::kYes)
    return Error{Errc::kRefused,
                 "thread " + std::to_string(failing) + " of process " + std::to_string(pid) +
                     " could not be stopped: ptrace: " + std::strerror(errno) +
                     "\n  needed: permission to trace it (ptrace_scope, seccomp, a container's profile)"};
  std::set<pid_t> left_out;
  for (bool found_new = true; found_new;) {
    found_new = false;
    for (const pid_t tid : ThreadIds(pid)) {
      if (process.threads_.contains(tid) || left_out.contains(tid)) continue;
      found_new = true;
      const Held held = process.Hold(tid);
      if (held == Held::kYes) continue;
      left_out.insert(tid);
      if (held != Held::kGone)
        losses->push_back("thread " + std::to_string(tid) + " was not stopped and has no registers here: " +
                          (held == Held::kBusy ? "it waits in the kernel" : "ptrace was refused"));
    }
  }
  return process;
}

void StoppedProcess::Detach() {
  for (const auto& [tid, signal] : threads_)
    ptrace(PTRACE_DETACH, tid, nullptr, reinterpret_cast<void*>(static_cast<intptr_t>(signal)));
  threads_.clear();
}

std::vector<Thread> StoppedProcess::ReadThreads() const {
  std::vector<Thread> threads;
  for (const auto& [tid, signal] : threads_) threads.push_back({tid, ThreadName(pid_, tid), false, ReadRegisters(tid)});
  return threads;
}

}  // namespace recrash
