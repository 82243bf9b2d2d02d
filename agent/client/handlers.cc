// Handlers that the program installs for failures, after the client has installed its own.
//
// A handler of the program's is called first: it may mend what failed. It is wrapped (OnHandled), so that these ends of
// it do not lose the report:
// - it resets the signal and raises it: a reset gives the signal to the client, and the report is about the failure for
//   which the handler was called;
// - it raises another one, as Boost.Stacktrace's example does: the desk finds the failure below the handler;
// - it returns, and abort() goes on to end the program;
// - it ends the program itself, by exit() or _exit().
// A handler that calls the one before it, as it should, has always led to the client.
//
// A signal that a failing instruction causes while it is blocked ends the program at once, without any handler. Threads
// that block all signals, to leave them to another thread, mean others. So those signals are never blocked.
//
// Interposes libc's functions: all libraries see the definitions in the program, or in a preloaded library, first.
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/signal_safe/own_memory.h"
#include "agent/base/signal_safe/system_call.h"
#include "agent/base/signal_safe/undisturbed.h"
#include "agent/client/client.h"

extern "C" {
__attribute__((weak)) int __interceptor_sigaction(int, const struct sigaction*, struct sigaction*);
int __sigaction(int, const struct sigaction*, struct sigaction*);  // libc's other name of it
__attribute__((weak)) void __real_exit(int);
}

namespace recrash::client {

using signal_safe::Call;
using signal_safe::IsFailure;

int RealSigaction(int number, const struct sigaction* action, struct sigaction* before) {
  return (&__interceptor_sigaction != nullptr ? __interceptor_sigaction : __sigaction)(number, action, before);
}

namespace {

constexpr int kSignals = 32;           // failures have lower numbers
constexpr int kRestorer = 0x04000000;  // libc's addition, which comes back

// What the program has installed for each signal. `is_there`: in place of the client's handler.
struct Handled {
  struct sigaction action;
  uint32_t is_there;
};
Handled g_handled[kSignals];

constexpr uint64_t Bit(int signal) { return uint64_t{1} << (signal - 1); }
// Failing instructions cause these.
constexpr uint64_t kFailures = Bit(SIGSEGV) | Bit(SIGBUS) | Bit(SIGFPE) | Bit(SIGILL) | Bit(SIGTRAP) | Bit(SIGSYS);

uint64_t NeverBlocked() { return kFailures | (g_state.options.watchdog_seconds != 0 ? Bit(kWatchdogSignal) : 0); }

RECRASH_SIGNAL_SAFE sigset_t WithoutFailures(const sigset_t& signals) {
  sigset_t rest = signals;
  for (int signal = 1; signal < kSignals; ++signal)
    if ((NeverBlocked() & Bit(signal)) != 0) sigdelset(&rest, signal);
  return rest;
}

RECRASH_SIGNAL_SAFE uint64_t StackPointer(const ucontext_t& context) {
  return static_cast<uint64_t>(context.uc_mcontext.gregs[REG_RSP]);
}

// Visits the failures in whose handlers this thread is, innermost first, until one is what `is_it` looks for. A handler
// that jumped away has left a pointer to what is no failure any more, nor memory, maybe: a live one lies above what its
// handler has called.
template <typename IsIt>
RECRASH_SIGNAL_SAFE bool ForEachFault(uint64_t sp, IsIt is_it) {
  const ThreadBlock* const block = ExistingThreadBlock();
  Fault copy;
  for (const Fault* fault = block != nullptr ? block->fault : nullptr; fault != nullptr; fault = copy.outer) {
    const auto address = reinterpret_cast<uint64_t>(fault);
    const bool is_live = address > sp && signal_safe::ReadOwnAnyhow(address, &copy, sizeof copy) == sizeof copy;
    if (!is_live || copy.magic != kLiveFault) return false;
    if (is_it(*fault)) return true;
    sp = address;
  }
  return false;
}

RECRASH_SIGNAL_SAFE void CallHandler(const struct sigaction& action, int number, siginfo_t* info, void* context) {
  constexpr greg_t kAlignmentCheck = 0x40000;
  if ((static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] & kAlignmentCheck) != 0)
    asm volatile("pushfq\n orl $0x40000, (%%rsp)\n popfq" : : : "cc", "memory");  // as the kernel had left it
  if ((action.sa_flags & SA_SIGINFO) != 0)
    action.sa_sigaction(number, info, context);
  else
    action.sa_handler(number);
  AllowUnaligned();
}

// The client's own handler in the place of the default action.
RECRASH_SIGNAL_SAFE void GiveToClient(int number) {
  __atomic_store_n(&g_handled[number].is_there, 0, __ATOMIC_RELEASE);
  struct sigaction action = ClientAction();
  RealSigaction(number, &action, nullptr);
}

RECRASH_SIGNAL_SAFE bool IsPending(int number) {
  uint64_t pending = 0;
  Call(SYS_rt_sigpending, &pending, sizeof pending);
  return (pending & Bit(number)) != 0;
}

// Blocked while a handler runs, by the kernel, and not any more when the handler has jumped away. No program uses it.
constexpr int kMark = SIGSTKFLT;

// The handler of this very signal runs: the kernel would hold a second one back.
RECRASH_SIGNAL_SAFE bool IsInHandlerOf(int number, const ucontext_t& interrupted) {
  if (sigismember(&interrupted.uc_sigmask, kMark) != 1) return false;
  return ForEachFault(StackPointer(interrupted), [&](const Fault& fault) {
    return fault.info->si_signo == number && (fault.flags & SA_NODEFER) == 0;
  });
}

RECRASH_SIGNAL_SAFE void HandleAndForget(const struct sigaction& action, int number, siginfo_t* info, void* context,
                                         ThreadBlock* block) {
  Fault fault = {kLiveFault, info, static_cast<const ucontext_t*>(context), nullptr, action.sa_flags};
  if (block != nullptr) {
    fault.outer = block->fault;
    block->fault = &fault;
  }
  CallHandler(action, number, info, context);
  // Of abort(), which goes on to end the program behind libc's back.
  if (number == SIGABRT && info->si_code == SI_TKILL && info->si_pid == getpid() && !IsPending(SIGABRT))
    ReportHandled(*info, *fault.context);
  if (block != nullptr) block->fault = fault.outer;
  fault.magic = 0;
}

// The handler has reset its signal and raised it: the client will get it when the handler has returned.
RECRASH_SIGNAL_SAFE void RememberPassed(const siginfo_t& info, const ucontext_t& context, ThreadBlock& block) {
  block.passed = info;
  block.passed_pc = static_cast<uint64_t>(context.uc_mcontext.gregs[REG_RIP]);
  block.passed_sp = StackPointer(context);
}

// In the place of the program's handler. The kernel does not block the signal meanwhile, so that a handler that fails
// itself is not the end; what the program sees is as if it did.
RECRASH_SIGNAL_SAFE void OnHandled(int number, siginfo_t* info, void* context) {
  AllowUnaligned();
  auto& interrupted = *static_cast<ucontext_t*>(context);
  if (HoldBackIfBlocked(number, *info, interrupted)) return;
  if (info->si_code > 0 && IsInHandlerOf(number, interrupted)) {
    GiveToClient(number);
    return g_state.signal_handler(number, info, context);
  }
  const struct sigaction action = g_handled[number].action;
  if ((action.sa_flags & SA_RESETHAND) != 0) GiveToClient(number);
  ThreadBlock* const block = ExistingThreadBlock();
  HandleAndForget(action, number, info, context, block);
  if (block != nullptr && info->si_code > 0 && !IsHandledByProgram(number) && IsPending(number))
    RememberPassed(*info, interrupted, *block);
}

bool IsMarked() {
  uint64_t blocked = 0;
  Call(SYS_rt_sigprocmask, SIG_BLOCK, nullptr, &blocked, sizeof blocked);
  return (blocked & Bit(kMark)) != 0;
}

// The program ends, maybe in a handler of a failing instruction.
void ReportUnlessMended() {
  if (g_state.mode != Mode::kLive) return;
  const Fault* const fault = FaultBeingHandled(reinterpret_cast<uint64_t>(__builtin_frame_address(0)), 0);
  if (fault != nullptr && fault->info->si_code > 0 && IsMarked()) ReportHandled(*fault->info, *fault->context);
}

bool IsForClient(int number) { return g_state.mode == Mode::kLive && number < kSignals && IsFailure(number); }

// REQUIRES: IsForClient(number).
int SetFailureAction(int number, const struct sigaction* action, struct sigaction* before) {
  Handled& handled = g_handled[number];
  struct sigaction earlier = {};
  if (IsHandledByProgram(number))
    earlier = handled.action;
  else
    RealSigaction(number, nullptr, &earlier);
  if (action != nullptr && action->sa_handler == SIG_DFL) {
    GiveToClient(number);
  } else if (action != nullptr && action->sa_handler != SIG_IGN && action->sa_sigaction != g_state.signal_handler) {
    struct sigaction wrapped = *action;
    wrapped.sa_sigaction = OnHandled;
    wrapped.sa_flags = (action->sa_flags | SA_SIGINFO | SA_NODEFER) & ~static_cast<int>(SA_RESETHAND);
    wrapped.sa_mask = WithoutFailures(action->sa_mask);
    sigaddset(&wrapped.sa_mask, kMark);
    handled.action = *action;
    handled.action.sa_flags |= kRestorer;
    __atomic_store_n(&handled.is_there, 1, __ATOMIC_RELEASE);
    if (RealSigaction(number, &wrapped, nullptr) != 0) return -1;
  } else if (action != nullptr) {
    __atomic_store_n(&handled.is_there, 0, __ATOMIC_RELEASE);
    if (RealSigaction(number, action, nullptr) != 0) return -1;
  }
  if (before != nullptr) *before = earlier;
  return 0;
}

}  // namespace

void UnblockFailures() {
  const uint64_t signals = NeverBlocked();
  Call(SYS_rt_sigprocmask, SIG_UNBLOCK, &signals, nullptr, sizeof signals);
}

bool IsHandledByProgram(int number) {
  return number > 0 && number < kSignals && __atomic_load_n(&g_handled[number].is_there, __ATOMIC_ACQUIRE) != 0;
}

bool HoldBackIfBlocked(int number, const siginfo_t& info, ucontext_t& interrupted) {
  if (info.si_code > 0) return false;
  const ThreadBlock* const block = ExistingThreadBlock();
  const bool is_blocked = block != nullptr && (block->blocked & Bit(number)) != 0;
  if (!is_blocked && !IsInHandlerOf(number, interrupted)) return false;
  sigaddset(&interrupted.uc_sigmask, number);
  const uint64_t now = Bit(number);
  Call(SYS_rt_sigprocmask, SIG_BLOCK, &now, nullptr, sizeof now);
  siginfo_t again = info;
  if (info.si_code == SI_TKILL)
    Call(SYS_rt_tgsigqueueinfo, getpid(), Call(SYS_gettid), number, &again);
  else
    Call(SYS_rt_sigqueueinfo, getpid(), number, &again);
  return true;
}

// Steps and breakpoints of a debugger in the program itself are no failures. An int3 that nobody set is one.
RECRASH_SIGNAL_SAFE static bool IsStep(const siginfo_t& info) {
  return info.si_signo == SIGTRAP && info.si_code > 0 && info.si_code != SI_KERNEL;
}

const Fault* FaultBeingHandled(uint64_t sp, int number) {
  const Fault* outermost = nullptr;
  ForEachFault(sp, [&](const Fault& fault) {
    const int failed = fault.info->si_signo;
    // The desk does not look for breakpoints: those of a debugger look the same.
    const bool by_instruction = fault.info->si_code > 0 && failed != SIGTRAP && !signal_safe::IsBeyondBreakpad(failed);
    if ((number != SIGABRT || failed == number || !by_instruction) && !IsStep(*fault.info)) outermost = &fault;
    return false;
  });
  return outermost;
}

}  // namespace recrash::client

#define RECRASH_INTERPOSES extern "C" __attribute__((visibility("default")))

RECRASH_INTERPOSES int sigaction(int number, const struct sigaction* __restrict action,
                                 struct sigaction* __restrict before) noexcept {
  using namespace recrash::client;
  if (g_state.replay_sigaction != nullptr) return g_state.replay_sigaction(number, action, before);
  if (IsForClient(number)) return SetFailureAction(number, action, before);
  if (g_state.mode != Mode::kLive || action == nullptr) return RealSigaction(number, action, before);
  struct sigaction changed = *action;
  changed.sa_mask = WithoutFailures(action->sa_mask);
  return RealSigaction(number, &changed, before);
}

RECRASH_INTERPOSES sighandler_t signal(int number, sighandler_t handler) noexcept {
  using namespace recrash::client;
  if (g_state.replay_signal != nullptr) return g_state.replay_signal(number, handler);
  if (!IsForClient(number)) return ssignal(number, handler);
  struct sigaction action = {}, before = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigaddset(&action.sa_mask, number);
  return sigaction(number, &action, &before) == 0 ? before.sa_handler : SIG_ERR;
}

// What the program believes to block of the signals that are never blocked.
static uint64_t ChangeBelief(int how, const sigset_t* set) {
  using namespace recrash::client;
  ThreadBlock* const block = ExistingThreadBlock();
  if (g_state.mode != Mode::kLive || block == nullptr) return 0;
  const uint64_t before = block->blocked;
  if (set == nullptr) return before;
  const uint64_t bits = set->__val[0] & NeverBlocked();
  block->blocked = how == SIG_BLOCK ? before | bits : how == SIG_UNBLOCK ? before & ~bits : bits;
  return before;
}

// Returns 0, or the error.
static int ChangeMask(int how, const sigset_t* set, sigset_t* before) {
  using namespace recrash::client;
  sigset_t changed;
  if (set != nullptr) {
    changed = g_state.mode == Mode::kLive && how != SIG_UNBLOCK ? WithoutFailures(*set) : *set;
    for (const int of_libc : {32, 33}) changed.__val[0] &= ~Bit(of_libc);
  }
  const uint64_t believed = ChangeBelief(how, set);
  const long error = Call(SYS_rt_sigprocmask, how, set != nullptr ? &changed : nullptr, before, sizeof(uint64_t));
  if (before != nullptr) before->__val[0] |= believed;
  return static_cast<int>(-error);
}

RECRASH_INTERPOSES int pthread_sigmask(int how, const sigset_t* __restrict set, sigset_t* __restrict before) noexcept {
  return ChangeMask(how, set, before);
}

RECRASH_INTERPOSES int sigprocmask(int how, const sigset_t* __restrict set, sigset_t* __restrict before) noexcept {
  const int error = ChangeMask(how, set, before);
  if (error != 0) errno = error;
  return error != 0 ? -1 : 0;
}

RECRASH_INTERPOSES void _exit(int status) {
  using namespace recrash::client;
  if (g_state.replay_exit_now != nullptr) g_state.replay_exit_now(status);
  ReportUnlessMended();
  for (;;) recrash::signal_safe::Call(SYS_exit_group, status);
}

RECRASH_INTERPOSES void _Exit(int status) noexcept { _exit(status); }

RECRASH_INTERPOSES void exit(int status) noexcept {
  using namespace recrash::client;
  ReportUnlessMended();
  Real(g_state.real_exit, &__real_exit, "exit")(status);
  __builtin_unreachable();
}
