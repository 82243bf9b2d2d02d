// PTRACE_SEIZE and PTRACE_INTERRUPT rather than PTRACE_ATTACH: no SIGSTOP is left behind, and if this process dies the
// kernel lets all threads go on. All threads are told to stop before the first is waited for: a thread that still runs
// takes the processor from this process. New threads may appear while others are being stopped, so the list of threads
// is read again until it holds no new one.
#include "agent/process/stopped_process.h"

#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

#include <algorithm>
#include <cstring>

#include "agent/base/signal_safe/clock.h"
#include "agent/base/signal_safe/left_out.h"
#include "agent/base/signal_safe/register_order.h"
#include "agent/process/proc_files.h"

namespace recrash {
namespace {

using signal_safe::Nanoseconds;

// A thread in an uninterruptible wait does not stop; half a second is more than all others take together.
constexpr uint64_t kPatience = 500'000'000;

void Sleep(long microseconds) {
  timespec time = {0, microseconds * 1000};
  nanosleep(&time, nullptr);
}

Registers ReadRegisters(pid_t tid, std::vector<std::string>* losses) {
  Registers registers;
  user_regs_struct general = {};
  const bool has_general = ptrace(PTRACE_GETREGS, tid, nullptr, &general) == 0 && !Fails("registers");
  if (has_general) {
    std::ranges::transform(kPtraceRegisters, registers.dwarf.begin(), [&](auto member) { return general.*member; });
    registers.fs_base = general.fs_base;
    registers.eflags = general.eflags;
  }
  user_fpregs_struct floating = {};
  static_assert(sizeof floating == 512);
  const bool has_floating = ptrace(PTRACE_GETFPREGS, tid, nullptr, &floating) == 0 && !Fails("floating_registers");
  if (has_floating) {
    registers.fxsave.resize(sizeof floating);
    std::memcpy(registers.fxsave.data(), &floating, sizeof floating);
  }
  if (!has_general) losses->push_back("registers of a thread: ptrace does not give them");
  if (!has_floating) losses->push_back("floating-point registers of a thread: ptrace does not give them");
  return registers;
}

}  // namespace

StoppedProcess::StoppedProcess(StoppedProcess&& other) noexcept
    : pid_(other.pid_),
      threads_(std::move(other.threads_)),
      waited_for_(std::move(other.waited_for_)),
      left_out_(std::move(other.left_out_)),
      knows_all_(other.knows_all_) {
  other.threads_.clear();
}

bool StoppedProcess::Seize(pid_t tid, bool interrupt) {
  if (ptrace(PTRACE_SEIZE, tid, nullptr, nullptr) != 0) return false;
  if (interrupt) ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr);
  return true;
}

// All that have not been seized yet; true if there was one.
bool StoppedProcess::SeizeNew() {
  bool found_new = false;
  const std::vector<pid_t> all = Fails("task") ? std::vector<pid_t>() : ThreadIds(pid_);
  knows_all_ = !all.empty();
  for (const pid_t tid : all) {
    if (threads_.contains(tid) || waited_for_.contains(tid) || left_out_.contains(tid)) continue;
    found_new = true;
    if (!Fails("seize") && Seize(tid, !Fails("stop")))
      waited_for_.insert(tid);
    else
      left_out_[tid] = errno == ESRCH ? Why::kGone : Why::kRefused;
  }
  return found_new;
}

// Takes one thread that has stopped, or has ended. False if none has by now.
bool StoppedProcess::TakeStopped() {
  int status = 0;
  const pid_t tid = waitpid(-1, &status, __WALL | WNOHANG);
  if (tid <= 0) return false;
  waited_for_.erase(tid);
  // PTRACE_EVENT_STOP is ours; otherwise a signal was on its way and must be given back.
  if (WIFSTOPPED(status))
    threads_[tid] = status >> 16 == 0 ? WSTOPSIG(status) : 0;
  else
    left_out_[tid] = Why::kGone;
  return true;
}

void StoppedProcess::WaitForStops() {
  const uint64_t limit = Nanoseconds(CLOCK_MONOTONIC) + kPatience;
  while (!waited_for_.empty() && Nanoseconds(CLOCK_MONOTONIC) < limit)
    if (!TakeStopped()) Sleep(100);
  for (const pid_t tid : waited_for_) left_out_[tid] = Why::kBusy;
  waited_for_.clear();
}

void StoppedProcess::SayWhoIsMissing(std::vector<std::string>* losses) const {
  for (const auto& [tid, why] : left_out_) {
    if (why == Why::kGone) continue;
    losses->push_back(std::string("a thread that was not stopped, and its registers: ") +
                      (why == Why::kBusy ? "it waits in the kernel" : "ptrace was refused"));
  }
  if (!knows_all_) losses->push_back("all threads but the failing one: /proc does not list them");
}

Result<StoppedProcess> StoppedProcess::Attach(pid_t pid, pid_t failing, std::vector<std::string>* losses) {
  StoppedProcess process(pid);
  if (!process.Seize(failing))
    return Error{Errc::kRefused,
                 "thread " + std::to_string(failing) + " of process " + std::to_string(pid) +
                     " could not be stopped: ptrace: " + std::strerror(errno) +
                     "\n  needed: permission to trace it (ptrace_scope, seccomp, a container's profile)"};
  process.waited_for_.insert(failing);
  process.SeizeNew();
  do process.WaitForStops();
  while (process.SeizeNew());
  if (!process.threads_.contains(failing))
    return Error{Errc::kRefused,
                 "thread " + std::to_string(failing) + " of process " + std::to_string(pid) + " did not stop"};
  process.SayWhoIsMissing(losses);
  return process;
}

void StoppedProcess::Detach() {
  for (const auto& [tid, signal] : threads_)
    ptrace(PTRACE_DETACH, tid, nullptr, reinterpret_cast<void*>(static_cast<intptr_t>(signal)));
  threads_.clear();
}

std::vector<Thread> StoppedProcess::ReadThreads(std::vector<std::string>* losses) const {
  std::vector<Thread> threads;
  for (const auto& [tid, signal] : threads_) {
    std::string name = Fails("thread_name") ? "" : ThreadName(pid_, tid);
    if (name.empty()) losses->push_back("the name of a thread: it has none, or /proc does not tell");
    threads.push_back({tid, std::move(name), false, ReadRegisters(tid, losses)});
  }
  return threads;
}

}  // namespace recrash
