// Runs a function in a process of its own, which shares this one's memory: the report is made there.
//
// That process has descriptors and limits of its own, so it can close what the program holds, and go beyond the
// program's soft limits. If it fails, the program still dies of its own signal. Nobody else notices it: it ends without
// a signal, and only a wait that asks for such processes (__WALL) finds it. That also hides the collector, its child.
// A debugger, and `recrash reproduce --rerun`, may follow it.
//
// Signal-safe. Both processes use one thread's errno, so the one that waits must not touch it: system_call.h alone.
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/base/signal_safe/clock.h"
#include "agent/base/signal_safe/system_call.h"
#include "agent/client/client.h"

namespace recrash::client {

using signal_safe::Call;
using signal_safe::Nanoseconds;
using signal_safe::Pause;

namespace {

constexpr int kPastStandard = 3;
constexpr unsigned kMostClosed = 65536;  // one by one, before Linux 5.9

RECRASH_SIGNAL_SAFE void CloseDescriptors() {
  if (Call(SYS_close_range, kPastStandard, ~0u, 0) == 0) return;
  rlimit limit = {};
  Call(SYS_getrlimit, RLIMIT_NOFILE, &limit);
  const uint64_t end = limit.rlim_cur < kMostClosed ? limit.rlim_cur : kMostClosed;
  for (uint64_t descriptor = kPastStandard; descriptor < end; ++descriptor) Call(SYS_close, descriptor);
}

RECRASH_SIGNAL_SAFE void RaiseLimit(int resource, rlimit* before) {
  if (Call(SYS_getrlimit, resource, before) != 0) return;
  const rlimit raised = {before->rlim_max, before->rlim_max};
  Call(SYS_setrlimit, resource, &raised);
}

RECRASH_SIGNAL_SAFE void RaiseLimits() {
  rlimit before = {};
  for (const int resource : {RLIMIT_AS, RLIMIT_DATA, RLIMIT_FSIZE, RLIMIT_NOFILE, RLIMIT_CPU})
    RaiseLimit(resource, &before);
}

RECRASH_SIGNAL_SAFE int RunInAside(void* work) {
  CloseDescriptors();
  RaiseLimits();
  reinterpret_cast<void (*)()>(work)();
  return 0;
}

}  // namespace

void RunHere(void (*work)()) {
  rlimit before = {};
  RaiseLimit(RLIMIT_FSIZE, &before);
  work();
  Call(SYS_setrlimit, RLIMIT_FSIZE, &before);
}

// Not libc's clone: ThreadSanitizer has one of its own.
asm(R"(
  .pushsection .text.recrash_clone,"ax",@progbits
  .type RecrashClone, @function
RecrashClone:
  leaq -16(%rsi), %rsi
  movq %rdx, (%rsi)
  movq %rcx, 8(%rsi)
  xorl %edx, %edx
  xorl %r10d, %r10d
  xorl %r8d, %r8d
  movl $56, %eax
  syscall
  testq %rax, %rax
  jz 1f
  ret
1:
  xorl %ebp, %ebp
  popq %rax
  popq %rdi
  call *%rax
  movl %eax, %edi
  movl $60, %eax
  syscall
  .size RecrashClone, . - RecrashClone
  .popsection
)");
extern "C" long RecrashClone(uint64_t flags, char* stack_end, int (*function)(void*), void* argument);

long CloneOnto(char* stack_end, uint64_t flags, int (*function)(void*), void* argument) {
  return RecrashClone(flags, stack_end, function, argument);
}

AsideEnd RunAside(void (*work)(), uint64_t deadline) {
  alignas(16) static char stack[64 << 10];
  const long child = CloneOnto(stack + sizeof stack, CLONE_VM, RunInAside, reinterpret_cast<void*>(work));
  if (child < 0) return AsideEnd::kNotStarted;
  for (;;) {
    int status = 0;
    const long ended = Call(SYS_wait4, child, &status, __WCLONE | WNOHANG, nullptr);
    if (ended < 0) return AsideEnd::kDone;  // a wait of the program's has taken it
    if (ended == child) return WIFSIGNALED(status) ? AsideEnd::kDied : AsideEnd::kDone;
    if (Nanoseconds(CLOCK_MONOTONIC) > deadline) break;
    Pause(200000);
  }
  // A process that waits in the kernel (for a disk that does not answer) does not end by that.
  Call(SYS_kill, child, SIGKILL);
  for (int i = 0; i < 200 && Call(SYS_wait4, child, nullptr, __WCLONE | WNOHANG, nullptr) == 0; ++i) Pause(500000);
  return AsideEnd::kTimedOut;
}

}  // namespace recrash::client
