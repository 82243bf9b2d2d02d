// Fills the CrashRecord at a fatal signal or RECRASH_REPORT.
//
// Signal-safe: no locks, no allocation, nothing initialised on first use. Breakpad's handler calls OnCrash on the
// failing thread with all six signals blocked, so a fault in here ends the process at once instead of coming back.
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <new>

#include "agent/base/signal_safe/clock.h"
#include "agent/base/signal_safe/register_order.h"
#include "agent/base/signal_safe/text.h"
#include "agent/base/signal_safe/undisturbed.h"
#include "agent/client/client.h"
#include "agent/client/save_registers.h"
#include "agent/client/watch/patcher.h"
#include "client/linux/handler/exception_handler.h"

namespace recrash::client {

using signal_safe::AddHandled;
using signal_safe::CopyText;
using signal_safe::Nanoseconds;
using signal_safe::Pause;
using watch::CodePlace;
using watch::CompiledPlace;

abi::CrashRecord g_record;
Progress g_progress;

namespace {

using google_breakpad::ExceptionHandler;
using google_breakpad::MinidumpDescriptor;

constexpr int kDumpable = 1;  // 2: for root alone

// Never destroyed: a crash in a static destructor must find it.
alignas(ExceptionHandler) RECRASH_SEALED char g_handler[sizeof(ExceptionHandler)];

RECRASH_SIGNAL_SAFE int32_t ThisThread() { return static_cast<int32_t>(syscall(SYS_gettid)); }

RECRASH_SIGNAL_SAFE bool IsThreadOfThisProcess(int32_t thread) {
  return syscall(SYS_tgkill, syscall(SYS_getpid), thread, 0) == 0;
}

// Longer than any thread may take for a report.
RECRASH_SIGNAL_SAFE uint64_t WaitingLimit() {
  const uint64_t seconds = uint64_t{g_state.options.timeout_seconds} + BeforeReportSeconds();
  return Nanoseconds(CLOCK_MONOTONIC) + seconds * 1000000000 + 500000000;
}

// Waits until no other thread makes a report; returns false if one takes longer than it may. A report has also ended if
// its thread is gone (in a child of fork), or is this one, which failed while it made the report.
RECRASH_SIGNAL_SAFE bool BecomeReporter() {
  const int32_t thread = ThisThread();
  const uint64_t limit = WaitingLimit();
  for (int32_t other = 0; !__atomic_compare_exchange_n(&g_progress.reporting, &other, thread, false, __ATOMIC_ACQ_REL,
                                                       __ATOMIC_ACQUIRE);) {
    if (other == thread) return true;
    if (!IsThreadOfThisProcess(other)) continue;  // its place is free
    if (Nanoseconds(CLOCK_MONOTONIC) > limit) return false;
    other = 0;
    Pause(2000000);
  }
  return true;
}

RECRASH_SIGNAL_SAFE void ClearRecord(abi::FailureKind kind, uint64_t entered) {
  memset(&g_record, 0, sizeof g_record);
  g_record.magic = abi::kCrashMagic;
  g_record.version = abi::kCrashVersion;
  g_record.size = sizeof g_record;
  g_record.kind = kind;
  g_record.pid = static_cast<int32_t>(syscall(SYS_getpid));
  g_record.tid = static_cast<int32_t>(syscall(SYS_gettid));
  g_record.monotonic_ns = entered;
  const bool is_open = g_progress.dumpable_before == kDumpable || g_progress.keeps_memory != 0;
  g_record.without_memory = !is_open ? abi::kNotDumpable : KnowsMarkedValues() ? 0 : abi::kCannotMask;
  if (g_record.without_memory != 0 || HasMarkedValues()) g_record.version = abi::kDiscreetVersion;
  CopyText(g_record.options, g_state.options_text);
}

// Before Breakpad makes the process dumpable.
RECRASH_SIGNAL_SAFE bool RememberDumpable(void*) {
  g_progress.dumpable_before = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
  return true;
}

RECRASH_SIGNAL_SAFE void SetDefault(int number) {
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  RealSigaction(number, &action, nullptr);
}

// Does the instruction fail again when the handlers return to it? Breakpad expects so of every signal that nobody sent.
// Some do not come again: behind a breakpoint or a system call the thread goes on, the client's state is not sealed any
// more, and a limit is passed once. Then the signal is queued as it came, and delivered when the handler returns.
RECRASH_SIGNAL_SAFE bool ComesAgain(const siginfo_t& info) {
  if (info.si_code <= 0 || info.si_signo == SIGABRT) return true;  // Breakpad sends it
  if (signal_safe::IsBeyondBreakpad(info.si_signo)) return false;
  return info.si_signo != SIGTRAP && !(info.si_signo == SIGSEGV && IsInSealedState(info.si_addr));
}

RECRASH_SIGNAL_SAFE void RecordThrow(const ThreadBlock& block) {
  g_record.throw_record = reinterpret_cast<uint64_t>(&block.thrown);
  g_record.has_replaced = block.replaced.armed != 0 ? 1 : 0;
}

// The signal that a handler has raised again when it had reset it: the failure is the one that it was called for.
RECRASH_SIGNAL_SAFE void TakePassed(abi::CrashRecord& record) {
  const ThreadBlock* const block = ExistingThreadBlock();
  const greg_t* const registers = record.context.uc_mcontext.gregs;
  if (block != nullptr && record.siginfo.si_code <= 0 && block->passed.si_signo == record.siginfo.si_signo &&
      block->passed_pc == static_cast<uint64_t>(registers[REG_RIP]) &&
      block->passed_sp == static_cast<uint64_t>(registers[REG_RSP]))
    record.siginfo = block->passed;
}

// Where the program refuses, or a program that is not ours fails by itself, nothing is written, and nothing is said.
RECRASH_SIGNAL_SAFE void ReportIfAllowed() {
  if (ConcernsServedCode() && MayReport()) return MakeReport();
  if (g_progress.dumpable_before >= 0) prctl(PR_SET_DUMPABLE, g_progress.dumpable_before, 0, 0, 0);
}

// If the signal came in a handler of the program's, the failure may be the one that the handler was called for.
RECRASH_SIGNAL_SAFE void ReportCrash(const siginfo_t& info, const ucontext_t& context, const void* fpstate,
                                     uint64_t entered) {
  ClearRecord(abi::FailureKind::kSignal, entered);
  // Without memory the desk finds nothing.
  const int number = g_record.without_memory != 0 ? 0 : info.si_signo;
  const Fault* const fault = FaultBeingHandled(static_cast<uint64_t>(context.uc_mcontext.gregs[REG_RSP]), number);
  g_record.siginfo = fault != nullptr ? *fault->info : info;
  g_record.context = fault != nullptr ? *fault->context : context;
  if (fault != nullptr) fpstate = fault->context->uc_mcontext.fpregs;
  if (fault == nullptr) TakePassed(g_record);
  // The thread may have failed in a displaced instruction, or on its way to the recorder.
  greg_t* const registers = g_record.context.uc_mcontext.gregs;
  const CodePlace place =
      CompiledPlace({static_cast<uint64_t>(registers[REG_RIP]), static_cast<uint64_t>(registers[REG_RSP])});
  registers[REG_RIP] = static_cast<greg_t>(place.pc);
  registers[REG_RSP] = static_cast<greg_t>(place.sp);
  if (fpstate != nullptr) memcpy(g_record.fpstate, fpstate, sizeof g_record.fpstate);
  g_record.context.uc_mcontext.fpregs = reinterpret_cast<fpregset_t>(g_record.fpstate);
  ThreadBlock* block = ExistingThreadBlock();
  if (block != nullptr && block->terminating != 0 && g_record.siginfo.si_signo == SIGABRT) {
    g_record.kind = abi::FailureKind::kException;
    RecordThrow(*block);
  }
  ReportIfAllowed();
}

RECRASH_SIGNAL_SAFE bool OnCrash(const void* crash_context, size_t, void*) {
  const uint64_t entered = Nanoseconds(CLOCK_MONOTONIC);
  const int saved_errno = errno;
  const auto& crash = *static_cast<const ExceptionHandler::CrashContext*>(crash_context);
  if (BecomeReporter()) {
    ReportCrash(crash.siginfo, crash.context, &crash.float_state, entered);
    __atomic_store_n(&g_progress.reporting, 0, __ATOMIC_RELEASE);
  }
  __atomic_store_n(&g_progress.reported, 1, __ATOMIC_RELEASE);
  if (signal_safe::IsBeyondBreakpad(crash.siginfo.si_signo)) SetDefault(crash.siginfo.si_signo);
  if (!ComesAgain(crash.siginfo))
    syscall(SYS_rt_tgsigqueueinfo, syscall(SYS_getpid), ThisThread(), crash.siginfo.si_signo, &crash.siginfo);
  errno = saved_errno;
  return false;  // not handled: Breakpad restores earlier handlers and the signal comes again
}

// A child of vfork that failed has left its thread's number in this process's memory. It returned from Breakpad's
// handler before it died, so it holds no lock. In a child of fork, a foreign number means that a thread of the parent
// was in the handler when the memory was copied.
RECRASH_SIGNAL_SAFE bool WasInVforkChild() {
  const int32_t process = __atomic_load_n(&g_progress.failing_in, __ATOMIC_ACQUIRE);
  return process != 0 && process != g_state.process && syscall(SYS_getpid) == g_state.process;
}

// Returns true for the one thread that goes on to Breakpad's handler. The handler takes a mutex. A thread that jumped
// out of the handler still holds it, and so does a thread of a fork's parent; so no second thread may enter. A second
// thread would also report a process that is ending. It gives the first time to die of its own signal, which is the
// exit status.
RECRASH_SIGNAL_SAFE bool IsFirstToFail() {
  const int32_t thread = ThisThread();
  int32_t first = 0;
  const auto take_over = [&] {
    if (!__atomic_compare_exchange_n(&g_progress.failing, &first, thread, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
      return false;
    __atomic_store_n(&g_progress.failing_in, static_cast<int32_t>(syscall(SYS_getpid)), __ATOMIC_RELEASE);
    return true;
  };
  if (take_over()) return true;
  if (first == thread) return false;
  if (WasInVforkChild() && take_over()) {
    __atomic_store_n(&g_progress.reported, 0, __ATOMIC_RELEASE);
    return true;
  }
  const uint64_t limit = WaitingLimit();
  while (IsThreadOfThisProcess(first) && Nanoseconds(CLOCK_MONOTONIC) < limit &&
         __atomic_load_n(&g_progress.reported, __ATOMIC_ACQUIRE) == 0)
    Pause(2000000);
  if (IsThreadOfThisProcess(first)) Pause(2000000000);
  return false;
}

// Ends the process by the signal that came: its default action, or what handled it before Breakpad, is next.
RECRASH_SIGNAL_SAFE void LetTheSignalEndIt(int number, const siginfo_t& info, bool ours) {
  if (ours) SetDefault(number);
  if (info.si_code <= 0 || number == SIGABRT || !ComesAgain(info))
    syscall(SYS_tgkill, syscall(SYS_getpid), ThisThread(), number);
}

// Holds back signals that the program handles: a handler that runs from here on could jump away, and a crashed program
// would go on. If the program handled failures itself before recrash, it decides, and finds the thread as it was.
RECRASH_SIGNAL_SAFE void HoldBackHandledSignals(ucontext_t& interrupted) {
  sigset_t handled;
  sigemptyset(&handled);
  AddHandled(handled);
  signal_safe::ChangeMask(SIG_BLOCK, handled, nullptr);
  if (g_state.earlier_handlers == 0) AddHandled(interrupted.uc_sigmask);
}

// Breakpad calls this before it touches its own state. True: the signal is dealt with.
RECRASH_SIGNAL_SAFE bool BeginCrash(int number, siginfo_t* info, void* context) {
  AllowUnaligned();
  if (HoldBackIfBlocked(number, *info, *static_cast<ucontext_t*>(context))) return true;
  const int saved_errno = errno;
  HoldBackHandledSignals(*static_cast<ucontext_t*>(context));
  struct sigaction current = {};
  RealSigaction(number, nullptr, &current);
  const bool ours = current.sa_sigaction == g_state.signal_handler;
  // Installed by signal(), without `info`: Breakpad mends that and the signal comes again.
  const bool without_info = ours && (current.sa_flags & SA_SIGINFO) == 0;
  const bool go_on = UnsealState() && (without_info || IsFirstToFail());
  if (!go_on) LetTheSignalEndIt(number, *info, ours);
  errno = saved_errno;
  return !go_on;
}

}  // namespace

struct sigaction ClientAction() {
  struct sigaction action = {};
  action.sa_sigaction = g_state.signal_handler;
  action.sa_flags = SA_ONSTACK | SA_SIGINFO;
  for (const signal_safe::FailureSignal& failure : signal_safe::kFailureSignals)
    sigaddset(&action.sa_mask, failure.number);
  return action;
}

namespace {

// Those that would end the program; one that is ignored or handled has been thought of.
void TakeSignalsBeyondBreakpad() {
  const struct sigaction action = ClientAction();
  for (const signal_safe::FailureSignal& failure : signal_safe::kFailureSignals) {
    struct sigaction before = {};
    if (!failure.beyond_breakpad || RealSigaction(failure.number, nullptr, &before) != 0) continue;
    if (before.sa_handler == SIG_DFL) RealSigaction(failure.number, &action, nullptr);
  }
}

}  // namespace

void ReportHandled(const siginfo_t& info, const ucontext_t& context) {
  const uint64_t entered = Nanoseconds(CLOCK_MONOTONIC);
  if (g_progress.reporting == ThisThread() || !BecomeReporter()) return;
  g_progress.dumpable_before = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
  prctl(PR_SET_DUMPABLE, kDumpable, 0, 0, 0);
  ReportCrash(info, context, context.uc_mcontext.fpregs, entered);
  __atomic_store_n(&g_progress.reporting, 0, __ATOMIC_RELEASE);
}

void InstallCrashHandler() {
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction before = {};
    if (!signal_safe::IsFailure(number) || RealSigaction(number, nullptr, &before) != 0) continue;
    if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) g_state.earlier_handlers = 1;
  }
  // The descriptor names a folder for dumps, but none are written. The last argument is no server: any number that is
  // not negative makes Breakpad call breakpad_seam.cc.
  auto* handler =
      new (g_handler) ExceptionHandler(MinidumpDescriptor(STDERR_FILENO), RememberDumpable, nullptr, nullptr,
                                       /*install_handler=*/true, /*server_fd=*/0);
  handler->set_crash_handler(OnCrash);
  struct sigaction installed = {};
  RealSigaction(SIGSEGV, nullptr, &installed);
  g_state.signal_handler = installed.sa_sigaction;
  TakeSignalsBeyondBreakpad();
  google_breakpad::SetFirstChanceExceptionHandler(BeginCrash);
}

void ReportAndGoOn(abi::FailureKind kind, const char* reason, const ThreadBlock* thrown, const uint64_t* registers) {
  const uint64_t entered = Nanoseconds(CLOCK_MONOTONIC);
  if (g_progress.reporting == ThisThread()) return;  // from a signal handler of the program, amid another report
  if (!BecomeReporter()) return;
  g_progress.dumpable_before = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
  ClearRecord(kind, entered);
  if (thrown != nullptr) RecordThrow(*thrown);
  CopyText(g_record.reason, reason);
  for (int i = 0; i < abi::kRegisterCount; ++i)
    g_record.context.uc_mcontext.gregs[kContextRegisters[i]] = static_cast<greg_t>(registers[i]);
  alignas(16) static uint8_t fpstate[512];
  asm volatile("fxsave %0" : "=m"(fpstate));
  memcpy(g_record.fpstate, fpstate, sizeof fpstate);
  g_record.context.uc_mcontext.fpregs = reinterpret_cast<fpregset_t>(g_record.fpstate);
  prctl(PR_SET_DUMPABLE, kDumpable, 0, 0, 0);
  ReportIfAllowed();
  __atomic_store_n(&g_progress.reporting, 0, __ATOMIC_RELEASE);
}

// Called by the assembly below with the registers of the caller of __recrash_report.
extern "C" __attribute__((used)) void RecrashReportWithRegisters(const char* reason, const uint64_t* registers) {
  // Looked up each time: a replay has restored this program's data, and may have overwritten what start-up found.
  using Reported = void (*)(const char*);
  if (auto replay = LookUp<Reported>(RTLD_DEFAULT, "__recrash_replay_reported")) return replay(reason);
  if (g_state.other != nullptr) return g_state.other->report(reason);
  if (g_state.mode != Mode::kLive) return;
  const int saved_errno = errno;
  ReportAndGoOn(abi::FailureKind::kReported, reason, nullptr, registers);
  errno = saved_errno;
}

}  // namespace recrash::client

// void __recrash_report(const char* reason).
RECRASH_WITH_CALLER_REGISTERS(".globl", "__recrash_report", R"(
  movq %rsp, %rsi
  call RecrashReportWithRegisters
)" RECRASH_DROP_REGISTERS "ret");
