// On an alternate stack of its own, nestable, with nothing but raw system calls and, where it must, the subject's C++
// runtime: the process around it is the dead one's.
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "agent/base/signal_safe/left_out.h"
#include "testgen/replay/checks/checkers.h"
#include "testgen/replay/guest/interpose.h"
#include "testgen/replay/guest/memory.h"
#include "testgen/replay/guest/observed.h"
#include "testgen/replay/guest/raw.h"
#include "testgen/replay/guest/runtime.h"
#include "testgen/replay/guest/sandbox.h"
#include "testgen/replay/guest/world.h"
#include "testgen/replay/place/place_traps.h"

namespace recrash::replay {
namespace {

constexpr size_t kHandlerStack = 256 << 10;
constexpr int kSignals[] = {SIGSEGV, SIGBUS,  SIGFPE,  SIGILL,  SIGABRT,  SIGTRAP,
                            SIGSYS,  SIGXCPU, SIGXFSZ, SIGQUIT, SIGSTKFLT};

// Its marks for what is known of the crash alone have no text of their own.
void NoteCrashsBlock(Observed* observed) {
  if (observed->block) observed->address = observed->block;
  if (strcmp(observed->finding.text, kFoundAtMark) == 0 && ArenaAt(world.blocks, observed->address))
    SetFinding(&observed->finding, kAddressSanitizer, kByHeapOfCrash);
}

void ReadAbortMessage() {
  if (!world.runtime.abort_message_slot || !*world.runtime.abort_message_slot) return;
  CopyText(world.run.observed->abort_message, sizeof world.run.observed->abort_message,
           *world.runtime.abort_message_slot + sizeof(uint32_t));
}

void OnSignal(int signal, siginfo_t* info, void* raw_context) {
  auto* context = static_cast<ucontext_t*>(raw_context);
  Observed* observed = world.run.observed;
  if (signal == SIGSYS && EmulateDenied(info, context)) return;
  if (signal == SIGSEGV && info->si_code == SEGV_ACCERR && GiveWatchedBack(Number(info->si_addr))) return;
  if (signal == SIGTRAP && world.run.checks_place && PassTrap(context)) return;
  // A second failure comes from looking at the first: what is known by then has been written.
  if (observed->ending != Ending::kNone) world.leave_call();
  observed->signal = signal;
  observed->code = info->si_code;
  observed->address = Number(info->si_addr);
  observed->pc = static_cast<uint64_t>(context->uc_mcontext.gregs[REG_RIP]);
  observed->ending = Ending::kSignal;
  if (signal == SIGABRT) {
    ReadAbortMessage();
    ReadException(observed);
    ReadAddressFinding(world.checkers, &observed->finding, &observed->address);
    NoteCrashsBlock(observed);
  }
  FindOwnCode(observed->pc, static_cast<uint64_t>(context->uc_mcontext.gregs[REG_RSP]), observed);
  world.leave_call();
}

}  // namespace

void InstallHandlers(void (*leave)()) {
  world.leave_call = leave;
  stack_t stack{};
  stack.ss_sp = mmap(nullptr, kHandlerStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  stack.ss_size = kHandlerStack;
  if (!LeftOut("alternate_stack")) sigaltstack(&stack, nullptr);
  struct sigaction action{};
  action.sa_sigaction = OnSignal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigset_t mask;
  sigemptyset(&mask);
  for (const int signal : kSignals) {
    InstallRealAction(signal, &action);
    sigaddset(&mask, signal);
  }
  sigprocmask(SIG_UNBLOCK, &mask, nullptr);
}

bool IsFailureSignal(int signal) {
  for (const int failure : kSignals) {
    if (signal == failure) return true;
  }
  return false;
}

void NoteRewinding(bool rewinding) { world.run.observed->rewinding = rewinding; }

void NoteBadBlock(const char* finding, uint64_t address) {
  Observed* observed = world.run.observed;
  if (observed->ending != Ending::kNone) world.leave_call();
  SetFinding(&observed->finding, kAddressSanitizer, finding);
  observed->block = address;
  Raw(SYS_tgkill, Raw(SYS_getpid), Raw(SYS_gettid), SIGABRT);
}

void NoteMissed() { world.run.observed->missed = true; }

void NoteAbsent(const char* what) {
  char(&absent)[sizeof world.run.observed->absent] = world.run.observed->absent;
  if (!absent[0]) CopyText(absent, sizeof absent, what);
}

void NoteNotFound(const char* path) {
  char(&not_found)[sizeof world.run.observed->not_found] = world.run.observed->not_found;
  if (!not_found[0]) CopyText(not_found, sizeof not_found, path);
}

bool HasEnded() { return world.run.observed->ending != Ending::kNone; }

void NoteExit(int status) {
  world.run.observed->status = status;
  if (world.run.observed->ending == Ending::kNone) world.run.observed->ending = Ending::kExited;
  world.leave_call();
  ExitNow(status);
}

void NoteReported(const char* reason) {
  Observed* observed = world.run.observed;
  if (observed->ending != Ending::kNone) world.leave_call();
  CopyText(observed->reason, sizeof observed->reason, reason);
  observed->pc = Number(__builtin_return_address(0));
  observed->ending = Ending::kReported;
  FindOwnCode(observed->pc, 0, observed);
  world.leave_call();
}

}  // namespace recrash::replay
