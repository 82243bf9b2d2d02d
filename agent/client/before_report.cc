// Asks the program before a report is made: RECRASH_BEFORE_REPORT.
//
// The callback is the program's code, in a process that has just failed: it may fail itself, or never come back. It
// must not make matters worse. So it runs on a stack of its own, with the failure signals let through. If one comes
// from there, the thread goes on behind the call, as if the callback had not been asked: the handler changes what the
// kernel restores. A timer that sends such a signal keeps the time limit. Signals of other threads go to the handlers
// that were there before.
//
// Signal-safe but for SetBeforeReport.
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

#include "agent/base/signal_safe/system_call.h"
#include "agent/base/signal_safe/undisturbed.h"
#include "agent/client/client.h"
#include "recrash/failure.h"

namespace recrash::client {

using abi::Answer;
using signal_safe::Call;
using signal_safe::ChangeMask;
using signal_safe::kFailureSignals;

namespace {

// What the callback runs on, and the alternate stack of its thread meanwhile: with the one that the thread is on, a
// second signal would begin at its top and overwrite the frames of the first.
constexpr uint64_t kGuard = 4096;
constexpr uint64_t kStack = 256 << 10;
constexpr uint64_t kAlternateStack = 64 << 10;
constexpr uint64_t kMapping = kGuard + kStack + kGuard + kAlternateStack;
constexpr int kTimeSignal = SIGBUS;
constexpr size_t kFailures = sizeof kFailureSignals / sizeof kFailureSignals[0];

// Those that a thread causes itself.
constexpr bool IsOwnFailure(const signal_safe::FailureSignal& failure) {
  return !failure.beyond_breakpad || failure.number == SIGSYS;
}

struct Callback {
  recrash_before_report function;
  void* data;
  uint32_t seconds;
  uint64_t mapping;   // guard, stack, guard, alternate stack
  uint64_t saved_sp;  // of the thread that has called it
  struct sigaction before[kFailures];
};
Callback g_callback;

struct Question {
  recrash_before_report function;
  const recrash_failure* failure;
  void* data;
};

// What CallOnStack returns: the callback's answer as 0 or 1, or one of these.
constexpr uint64_t kFailed = 2;
constexpr uint64_t kTimedOut = 3;

extern "C" {
extern const char RecrashAfterCall[];
}

RECRASH_SIGNAL_SAFE bool IsOnCallbackStack(uint64_t sp) {
  return sp >= g_callback.mapping && sp < g_callback.mapping + kGuard + kStack;
}

RECRASH_SIGNAL_SAFE void EndCall(ucontext_t& context, uint64_t answer) {
  greg_t* const registers = context.uc_mcontext.gregs;
  constexpr greg_t kDirection = 1 << 10;
  registers[REG_RIP] = static_cast<greg_t>(reinterpret_cast<uint64_t>(RecrashAfterCall));
  registers[REG_RSP] = static_cast<greg_t>(g_callback.saved_sp);
  registers[REG_RAX] = static_cast<greg_t>(answer);
  registers[REG_EFL] &= ~kDirection;
}

RECRASH_SIGNAL_SAFE void PassOn(const struct sigaction& to, int number, siginfo_t* info, void* context) {
  if ((to.sa_flags & SA_SIGINFO) != 0) return to.sa_sigaction(number, info, context);
  if (to.sa_handler != SIG_DFL && to.sa_handler != SIG_IGN) return to.sa_handler(number);
  // It comes again, or is sent again.
  RealSigaction(number, &to, nullptr);
  if (info->si_code <= 0) Call(SYS_tgkill, Call(SYS_getpid), Call(SYS_gettid), number);
}

RECRASH_SIGNAL_SAFE void OnSignal(int number, siginfo_t* info, void* interrupted) {
  auto& context = *static_cast<ucontext_t*>(interrupted);
  const bool by_timer = info->si_code == SI_TIMER && info->si_value.sival_ptr == &g_callback;
  if (IsOnCallbackStack(static_cast<uint64_t>(context.uc_mcontext.gregs[REG_RSP])))
    return EndCall(context, by_timer ? kTimedOut : kFailed);
  if (by_timer) return;  // it has just ended
  for (size_t i = 0; i < kFailures; ++i)
    if (kFailureSignals[i].number == number) PassOn(g_callback.before[i], number, info, interrupted);
}

RECRASH_SIGNAL_SAFE uint64_t Ask(void* argument) {
  const auto& question = *static_cast<const Question*>(argument);
  stack_t alternate = {};
  alternate.ss_sp = reinterpret_cast<void*>(g_callback.mapping + kGuard + kStack + kGuard);
  alternate.ss_size = kAlternateStack;
  sigaltstack(&alternate, nullptr);
  return question.function(question.failure, question.data) != 0 ? 1 : 0;
}

// Ends the call of this thread by a signal when the time is over. Without a timer the call has no limit.
class TimeLimit {
 public:
  RECRASH_SIGNAL_SAFE explicit TimeLimit(uint32_t seconds) {
    sigevent event = {};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = kTimeSignal;
    event.sigev_value.sival_ptr = &g_callback;
    event._sigev_un._tid = static_cast<pid_t>(Call(SYS_gettid));
    set_ = seconds != 0 && Call(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer_) == 0;
    const itimerspec time = {{}, {static_cast<time_t>(seconds), 0}};
    if (set_) Call(SYS_timer_settime, timer_, 0, &time, nullptr);
  }
  RECRASH_SIGNAL_SAFE ~TimeLimit() {
    if (set_) Call(SYS_timer_delete, timer_);
  }

 private:
  int timer_ = 0;
  bool set_ = false;
};

// Lets failures of the callback through, to OnSignal.
class FailuresLetThrough {
 public:
  RECRASH_SIGNAL_SAFE FailuresLetThrough() {
    sigset_t failures;
    sigemptyset(&failures);
    for (size_t i = 0; i < kFailures; ++i) {
      if (!IsOwnFailure(kFailureSignals[i])) continue;
      const int number = kFailureSignals[i].number;
      sigaddset(&failures, number);
      RealSigaction(number, nullptr, &g_callback.before[i]);
      struct sigaction action = g_callback.before[i];
      action.sa_sigaction = OnSignal;
      action.sa_flags = SA_SIGINFO | SA_ONSTACK;
      RealSigaction(number, &action, nullptr);
    }
    ChangeMask(SIG_UNBLOCK, failures, &mask_);
  }
  RECRASH_SIGNAL_SAFE ~FailuresLetThrough() {
    ChangeMask(SIG_SETMASK, mask_, nullptr);
    for (size_t i = 0; i < kFailures; ++i)
      if (IsOwnFailure(kFailureSignals[i])) RealSigaction(kFailureSignals[i].number, &g_callback.before[i], nullptr);
  }

 private:
  sigset_t mask_;
};

RECRASH_SIGNAL_SAFE uint64_t AskGuarded(const recrash_failure& failure) {
  Question question = {g_callback.function, &failure, g_callback.data};
  stack_t alternate = {};
  const bool has_alternate = sigaltstack(nullptr, &alternate) == 0;
  const FailuresLetThrough let_through;
  uint64_t answer;
  {
    const TimeLimit limit(g_callback.seconds);
    answer = RecrashCallOnStack(g_callback.mapping + kGuard + kStack, Ask, &question, &g_callback.saved_sp);
  }
  alternate.ss_flags &= ~SS_ONSTACK;
  if (has_alternate) sigaltstack(&alternate, nullptr);
  return answer;
}

RECRASH_SIGNAL_SAFE recrash_failure FailureOfRecord() {
  recrash_failure failure = {};
  failure.size = sizeof failure;
  failure.signal = g_record.siginfo.si_signo;
  if (failure.signal != 0) {
    failure.code = g_record.siginfo.si_code;
    failure.address = g_record.siginfo.si_code > 0 ? g_record.siginfo.si_addr : nullptr;
  }
  failure.pc = reinterpret_cast<const void*>(g_record.context.uc_mcontext.gregs[REG_RIP]);
  failure.thread = g_record.tid;
  failure.exception = failure.what = "";
  if (const auto* thrown = reinterpret_cast<const abi::ThrowRecord*>(g_record.throw_record)) {
    failure.exception = thrown->type;
    failure.what = thrown->what;
  }
  failure.reason = g_record.reason;
  return failure;
}

void SetBeforeReport(recrash_before_report function, void* data, unsigned seconds) {
  __atomic_store_n(&g_callback.function, nullptr, __ATOMIC_RELEASE);
  if (function == nullptr) return;
  if (g_callback.mapping == 0) {
    const long at = Call(SYS_mmap, nullptr, kMapping, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at < 0) return;
    g_callback.mapping = static_cast<uint64_t>(at);
    for (const uint64_t guard : {g_callback.mapping, g_callback.mapping + kGuard + kStack})
      mprotect(reinterpret_cast<void*>(guard), kGuard, PROT_NONE);
  }
  g_callback.data = data;
  g_callback.seconds = seconds;
  __atomic_store_n(&g_callback.function, function, __ATOMIC_RELEASE);
}

}  // namespace

uint32_t BeforeReportSeconds() { return g_callback.function != nullptr ? g_callback.seconds : 0; }

bool MayReport() {
  if (__atomic_load_n(&g_callback.function, __ATOMIC_ACQUIRE) == nullptr) return true;
  const signal_safe::Undisturbed undisturbed;
  const recrash_failure failure = FailureOfRecord();
  const uint64_t answer = AskGuarded(failure);
  const Answer became = answer == kFailed ? Answer::kFailed : answer == kTimedOut ? Answer::kTimedOut : Answer::kGiven;
  if (g_state.additions != nullptr) g_state.additions->answer = became;
  return answer != 0;
}

}  // namespace recrash::client

// uint64_t RecrashCallOnStack(uint64_t stack_end, uint64_t (*function)(void*), void* argument, uint64_t* saved_sp)
asm(R"(
  .pushsection .text.recrash_call_on_stack,"ax",@progbits
  .globl RecrashCallOnStack
  .hidden RecrashCallOnStack
  .type RecrashCallOnStack, @function
RecrashCallOnStack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rcx, %rbx
  movq %rsp, (%rbx)
  movq %rdi, %rsp
  movq %rdx, %rdi
  call *%rsi
  movq (%rbx), %rsp
  .globl RecrashAfterCall
  .hidden RecrashAfterCall
RecrashAfterCall:
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size RecrashCallOnStack, . - RecrashCallOnStack
  .popsection
)");

extern "C" __attribute__((visibility("default"))) void __recrash_before_report(recrash_before_report function,
                                                                               void* data, unsigned seconds) {
  using namespace recrash::client;
  if (g_state.other != nullptr) return g_state.other->before_report(function, data, seconds);
  if (g_state.mode == Mode::kLive) SetBeforeReport(function, data, seconds);
}
