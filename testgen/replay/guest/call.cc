// `.cfi_undefined rip` makes this the end of the stack for an unwinder: an exception that nobody catches then ends in
// std::terminate with the throw's stack intact, as it did when it was recorded. A catch (...) here would unwind first.
#include "testgen/replay/guest/call.h"

extern "C" {
__attribute__((visibility("hidden"))) uint64_t recrash_call_sp;
}

__asm__(R"(
  .text
  .globl recrash_call
  .hidden recrash_call
  .type recrash_call,@function
recrash_call:
  .cfi_startproc
  .cfi_undefined rip
  push %rbp
  push %rbx
  push %r12
  push %r13
  push %r14
  push %r15
  sub $24, %rsp
  stmxcsr 8(%rsp)
  fnstcw 12(%rsp)
  mov %rsp, recrash_call_sp(%rip)
  mov %rdi, %rax
  mov 200(%rax), %r11
  ldmxcsr 208(%rax)
  fldcw 212(%rax)
  mov 192(%rax), %rsp
  movups 64(%rax), %xmm0
  movups 80(%rax), %xmm1
  movups 96(%rax), %xmm2
  movups 112(%rax), %xmm3
  movups 128(%rax), %xmm4
  movups 144(%rax), %xmm5
  movups 160(%rax), %xmm6
  movups 176(%rax), %xmm7
  mov 0(%rax), %rdi
  mov 8(%rax), %rsi
  mov 16(%rax), %rdx
  mov 24(%rax), %rcx
  mov 32(%rax), %r8
  mov 40(%rax), %r9
  mov 48(%rax), %r10
  mov $8, %eax      # a variadic callee saves that many vector registers
  xor %ebx, %ebx
  xor %ebp, %ebp
  xor %r12d, %r12d
  xor %r13d, %r13d
  xor %r14d, %r14d
  xor %r15d, %r15d
  cld
  call *%r11
  .globl recrash_leave_call
  .hidden recrash_leave_call
recrash_leave_call:
  mov recrash_call_sp(%rip), %rsp
  cld
  ldmxcsr 8(%rsp)
  fnclex
  fldcw 12(%rsp)
  add $24, %rsp
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbx
  pop %rbp
  ret
  .globl recrash_call_end
  .hidden recrash_call_end
recrash_call_end:
  nop
  .cfi_endproc
  .size recrash_call, .-recrash_call
)");

namespace recrash::replay {

void ReadControlWords(CallState* state) {
  __asm__("stmxcsr %0" : "=m"(state->mxcsr));
  __asm__("fnstcw %0" : "=m"(state->fcw));
}

}  // namespace recrash::replay
