// Keeps a thread at its report: holds back signals and cancellation, which would take it away.
//
// Signal-safe.
#ifndef RECRASH_AGENT_BASE_SIGNAL_SAFE_UNDISTURBED_H_
#define RECRASH_AGENT_BASE_SIGNAL_SAFE_UNDISTURBED_H_

#include <pthread.h>
#include <signal.h>
#include <stdint.h>

#include "agent/base/signal_safe/system_call.h"
#include "shadowstack/abi.h"

namespace recrash::signal_safe {

// Failures of a thread itself. In a crash they are blocked already; in a report of a process that goes on they must not
// be: held back, they would end it without a report.
struct FailureSignal {
  int number;
  const char* name;
  bool beyond_breakpad;  // which takes the others
};
inline constexpr FailureSignal kFailureSignals[] = {
    {SIGSEGV, "SIGSEGV", false}, {SIGABRT, "SIGABRT", false}, {SIGFPE, "SIGFPE", false},     {SIGILL, "SIGILL", false},
    {SIGBUS, "SIGBUS", false},   {SIGTRAP, "SIGTRAP", false}, {SIGSYS, "SIGSYS", true},      {SIGXCPU, "SIGXCPU", true},
    {SIGXFSZ, "SIGXFSZ", true},  {SIGQUIT, "SIGQUIT", true},  {SIGSTKFLT, "SIGSTKFLT", true}};

// A bit for each of them, as the kernel has it.
inline constexpr uint64_t kFailureMask = [] {
  uint64_t mask = 0;
  for (const FailureSignal& failure : kFailureSignals) mask |= uint64_t{1} << (failure.number - 1);
  return mask;
}();

RECRASH_SIGNAL_SAFE inline bool IsFailure(int signal) {
  return signal > 0 && signal < NSIG && (kFailureMask >> (signal - 1) & 1) != 0;
}

RECRASH_SIGNAL_SAFE inline bool IsBeyondBreakpad(int signal) {
  for (const FailureSignal& failure : kFailureSignals)
    if (failure.number == signal) return failure.beyond_breakpad;
  return false;
}

// Signals that the program handles: the handler might jump away from here for good, and leave locks and a collector
// behind.
RECRASH_SIGNAL_SAFE inline void AddHandled(sigset_t& signals) {
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action = {};
    if (IsFailure(signal) || sigaction(signal, nullptr, &action) != 0) continue;
    if (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN) sigaddset(&signals, signal);
  }
}

// Not libc's: the client interposes it, and lets a program block no failures.
RECRASH_SIGNAL_SAFE inline void ChangeMask(int how, const sigset_t& signals, sigset_t* before) {
  Call(SYS_rt_sigprocmask, how, &signals, before, sizeof(uint64_t));
}

// Holds back, while it lives, what would take this thread away from its report. A closed pipe behind stderr, or a limit
// on file sizes, would end the program by another signal than its own: those that came are taken away.
class Undisturbed {
 public:
  RECRASH_SIGNAL_SAFE Undisturbed() {
    // waitpid, open and write are where a pthread_cancel by another thread would end this one.
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_before_);
    sigemptyset(&quiet_);
    sigaddset(&quiet_, SIGPIPE);
    sigaddset(&quiet_, SIGXFSZ);
    sigset_t held = quiet_;
    AddHandled(held);
    ChangeMask(SIG_BLOCK, held, &before_);
  }
  RECRASH_SIGNAL_SAFE ~Undisturbed() {
    const timespec now = {};
    while (sigtimedwait(&quiet_, nullptr, &now) > 0) continue;
    ChangeMask(SIG_SETMASK, before_, nullptr);
    pthread_setcancelstate(cancel_before_, nullptr);
  }

 private:
  sigset_t quiet_;
  sigset_t before_;
  int cancel_before_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace recrash::signal_safe

#endif  // RECRASH_AGENT_BASE_SIGNAL_SAFE_UNDISTURBED_H_
