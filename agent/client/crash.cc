// From a fatal signal, or RECRASH_REPORT, to a filled CrashRecord.
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

#include "agent/client/client.h"
#include "agent/client/look_up.h"
#include "agent/client/save_registers.h"
#include "agent/client/text.h"
#include "client/linux/handler/exception_handler.h"

namespace recrash::client {

abi::CrashRecord g_record;

namespace {

using google_breakpad::ExceptionHandler;
using google_breakpad::MinidumpDescriptor;

// Never destroyed: a crash in a static destructor must find it.
alignas(ExceptionHandler) char g_handler[sizeof(ExceptionHandler)];

RECRASH_SIGNAL_SAFE void Pause(long milliseconds) {
  timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
  syscall(SYS_nanosleep, &time, nullptr);
}

// Only one report at a time; false when the other one does not end within the time that it has.
RECRASH_SIGNAL_SAFE bool BecomeReporter() {
  const uint64_t limit = MonotonicNs() + (g_state.options.timeout_seconds + 5ull) * 1000000000ull;
  while (__atomic_exchange_n(&g_state.reporting, 1, __ATOMIC_ACQUIRE) != 0) {
    if (MonotonicNs() > limit) return false;
    Pause(2);
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
  CopyText(g_record.options, g_state.options_text);
}

// Before Breakpad makes the process dumpable.
RECRASH_SIGNAL_SAFE bool RememberDumpable(void*) {
  g_state.dumpable_before = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
  return true;
}

RECRASH_SIGNAL_SAFE bool OnCrash(const void* crash_context, size_t, void*) {
  const uint64_t entered = MonotonicNs();
  const int saved_errno = errno;
  const auto* crash = static_cast<const ExceptionHandler::CrashContext*>(crash_context);
  // Threads that crash after the first come here one by one, when Breakpad's mutex lets them. Their report would be of
  // a process that is ending; they give the first one time to die of its own signal, whose status counts.
  if (g_state.dying != 0) {
    Pause(2000);
    return false;
  }
  if (!BecomeReporter()) return false;
  g_state.dying = 1;
  ClearRecord(abi::FailureKind::kSignal, entered);
  g_record.siginfo = crash->siginfo;
  g_record.context = crash->context;
  memcpy(g_record.fpstate, &crash->float_state, sizeof g_record.fpstate);
  g_record.context.uc_mcontext.fpregs = reinterpret_cast<fpregset_t>(g_record.fpstate);
  ThreadBlock* block = ExistingThreadBlock();
  if (block != nullptr && block->terminating != 0 && crash->siginfo.si_signo == SIGABRT) {
    g_record.kind = abi::FailureKind::kException;
    g_record.throw_record = reinterpret_cast<uint64_t>(&block->thrown);
  }
  MakeReport();
  __atomic_store_n(&g_state.reporting, 0, __ATOMIC_RELEASE);
  // A breakpoint instruction does not trap again when the thread goes on behind it. The signal is queued as it came,
  // and delivered when this handler returns.
  if (crash->siginfo.si_signo == SIGTRAP && crash->siginfo.si_code > 0)
    syscall(SYS_rt_tgsigqueueinfo, g_record.pid, g_record.tid, SIGTRAP, &g_record.siginfo);
  errno = saved_errno;
  return false;  // not handled: Breakpad restores earlier handlers and the signal comes again
}

}  // namespace

void InstallCrashHandler() {
  // The descriptor names a place for dumps in the process, of which there are none; nor is the last argument a server:
  // any number that is not negative makes Breakpad ask breakpad_seam.cc.
  auto* handler =
      new (g_handler) ExceptionHandler(MinidumpDescriptor(STDERR_FILENO), RememberDumpable, nullptr, nullptr,
                                       /*install_handler=*/true, /*server_fd=*/0);
  handler->set_crash_handler(OnCrash);
}

void ReportAndGoOn(abi::FailureKind kind, const char* reason, const abi::ThrowRecord* thrown,
                   const uint64_t* registers) {
  const uint64_t entered = MonotonicNs();
  if (!BecomeReporter()) return;
  ClearRecord(kind, entered);
  g_record.throw_record = reinterpret_cast<uint64_t>(thrown);
  CopyText(g_record.reason, reason);
  // DWARF's order of registers is not the kernel's.
  static const int kFromDwarf[abi::kRegisterCount] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                                      REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                                      REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
  for (int i = 0; i < abi::kRegisterCount; ++i)
    g_record.context.uc_mcontext.gregs[kFromDwarf[i]] = static_cast<greg_t>(registers[i]);
  alignas(16) static uint8_t fpstate[512];
  asm volatile("fxsave %0" : "=m"(fpstate));
  memcpy(g_record.fpstate, fpstate, sizeof fpstate);
  g_record.context.uc_mcontext.fpregs = reinterpret_cast<fpregset_t>(g_record.fpstate);
  g_state.dumpable_before = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
  prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
  MakeReport();
  __atomic_store_n(&g_state.reporting, 0, __ATOMIC_RELEASE);
}

// Called by the assembly below with the registers of the caller of __recrash_report.
extern "C" __attribute__((used)) void RecrashReportWithRegisters(const char* reason, const uint64_t* registers) {
  // Looked up each time: the replay has put back this program's data, and what start-up found may be gone with it.
  using Reported = void (*)(const char*);
  if (auto replay = reinterpret_cast<Reported>(LookUp(RTLD_DEFAULT, "__recrash_replay_reported")))
    return replay(reason);
  if (g_state.preloaded_report != nullptr) return g_state.preloaded_report(reason);
  if (g_state.mode != Mode::kLive) return;
  const int saved_errno = errno;
  ReportAndGoOn(abi::FailureKind::kReported, reason, nullptr, registers);
  errno = saved_errno;
}

}  // namespace recrash::client

// void __recrash_report(const char* reason). The registers are the caller's, as they are just after the call; in C the
// compiler's own use of them would show.
asm(R"(
  .pushsection .text.__recrash_report,"ax",@progbits
  .globl __recrash_report
  .type __recrash_report,@function
__recrash_report:
  .cfi_startproc
)" RECRASH_SAVE_CALLER_REGISTERS R"(
  movq %rsp, %rsi
  call RecrashReportWithRegisters
  addq $136, %rsp
  .cfi_adjust_cfa_offset -136
  ret
  .cfi_endproc
  .size __recrash_report, . - __recrash_report
  .popsection
)");
