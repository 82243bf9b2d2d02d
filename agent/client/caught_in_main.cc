// RECRASH_OPTIONS=exceptions=main: an exception that nothing but main catches is a failure, too. Many programs catch
// everything in main, print it and exit; std::terminate is not called then.
//
// Runs at each catch of the main thread, in normal context. It counts the frames outside the handler with the runtime's
// own unwinder, about 1 µs each. Outside main there are three on glibc 2.34 and later (__libc_start_call_main,
// __libc_start_main, _start), fewer before. The stack is unwound by then: only the copy made at the throw is left.
#include <errno.h>
#include <string.h>

#include "agent/base/signal_safe/text.h"
#include "agent/client/client.h"

struct _Unwind_Context;
extern "C" {
__attribute__((weak)) int _Unwind_Backtrace(int (*visit)(_Unwind_Context*, void*), void* argument);
__attribute__((weak)) uintptr_t _Unwind_GetIP(_Unwind_Context* context);
}

namespace recrash::client {
namespace {

using signal_safe::CopyText;

constexpr int kFramesAroundMain = 3;

struct Count {
  uintptr_t handler;  // return address into the function that catches
  bool seen;
  int outside;  // frames outside of it
};

int Visit(_Unwind_Context* context, void* argument) {
  auto* count = static_cast<Count*>(argument);
  const uintptr_t pc = _Unwind_GetIP(context);
  if (pc == 0) return 0;
  if (count->seen) ++count->outside;
  if (pc == count->handler) count->seen = true;
  return count->outside > kFramesAroundMain ? 4 /* _URC_NORMAL_STOP */ : 0;
}

bool IsInMain(void* return_address) {
  if (&_Unwind_Backtrace == nullptr || &_Unwind_GetIP == nullptr) return false;
  Count count = {reinterpret_cast<uintptr_t>(return_address), false, 0};
  _Unwind_Backtrace(Visit, &count);
  return count.seen && count.outside <= kFramesAroundMain;
}

// In DWARF's order: the registers that the unwinder needs. The others are dead across calls.
__attribute__((always_inline)) inline void CaptureRegisters(uint64_t (&registers)[abi::kRegisterCount]) {
  memset(registers, 0, sizeof registers);
  asm volatile(
      "movq %%rbx, 24(%0)\n\t"
      "movq %%rbp, 48(%0)\n\t"
      "movq %%rsp, 56(%0)\n\t"
      "movq %%r12, 96(%0)\n\t"
      "movq %%r13, 104(%0)\n\t"
      "movq %%r14, 112(%0)\n\t"
      "movq %%r15, 120(%0)\n\t"
      "leaq 0f(%%rip), %%rax\n\t"
      "movq %%rax, 128(%0)\n"
      "0:"
      :
      : "r"(registers)
      : "rax", "memory");
}

}  // namespace

__attribute__((noinline)) void ReportIfCaughtInMain(ThreadBlock& block, void* unwind_exception, void* return_address) {
  if (block.is_main == 0 || block.thrown.armed == 0 || block.terminating != 0 || !IsInMain(return_address)) return;
  // libstdc++'s header lies 80 bytes before what the unwinder knows, and begins with the type; the object is 32 behind.
  const auto* exception = static_cast<const char*>(unwind_exception);
  uint64_t exception_class;
  memcpy(&exception_class, exception, sizeof exception_class);
  if (exception_class != 0x474e5543432b2b00 || reinterpret_cast<uint64_t>(exception + 32) != block.thrown.object)
    return;
  const void* type;
  memcpy(&type, exception - 80, sizeof type);
  const int saved_errno = errno;
  CopyText(block.thrown.what, WhatOf(type, reinterpret_cast<void*>(block.thrown.object)));
  uint64_t registers[abi::kRegisterCount];
  CaptureRegisters(registers);
  ReportAndGoOn(abi::FailureKind::kException, nullptr, &block, registers);
  errno = saved_errno;
}

}  // namespace recrash::client
