// For tests of the recorder alone: programs that are compiled with `-pg -mfentry` call __fentry__ as the first
// instruction of each function, and here that becomes recrash_on_entry.
#include "shadowstack/entry_hook.h"

__attribute__((used)) static auto* const g_on_entry = recrash_on_entry;

// At the call: 8(%rsp) is the function's return address. Argument registers, al of variadic functions and r10 of nested
// ones are what a function may find at its entry.
asm(R"(
  .text
  .globl __fentry__
  .type __fentry__,@function
__fentry__:
  push %rbp
  mov %rsp, %rbp
  sub $224, %rsp
  and $-16, %rsp
  mov %rdi, 0(%rsp)
  mov %rsi, 8(%rsp)
  mov %rdx, 16(%rsp)
  mov %rcx, 24(%rsp)
  mov %r8, 32(%rsp)
  mov %r9, 40(%rsp)
  movups %xmm0, 48(%rsp)
  movups %xmm1, 64(%rsp)
  movups %xmm2, 80(%rsp)
  movups %xmm3, 96(%rsp)
  movups %xmm4, 112(%rsp)
  movups %xmm5, 128(%rsp)
  movups %xmm6, 144(%rsp)
  movups %xmm7, 160(%rsp)
  mov %rax, 192(%rsp)
  mov %r10, 200(%rsp)
  mov 8(%rbp), %rax
  sub $5, %rax
  mov %rax, 176(%rsp)
  lea 16(%rbp), %rax
  mov %rax, 184(%rsp)
  mov %rsp, %rdi
  xor %esi, %esi
  call recrash_on_entry
  mov 0(%rsp), %rdi
  mov 8(%rsp), %rsi
  mov 16(%rsp), %rdx
  mov 24(%rsp), %rcx
  mov 32(%rsp), %r8
  mov 40(%rsp), %r9
  movups 48(%rsp), %xmm0
  movups 64(%rsp), %xmm1
  movups 80(%rsp), %xmm2
  movups 96(%rsp), %xmm3
  movups 112(%rsp), %xmm4
  movups 128(%rsp), %xmm5
  movups 144(%rsp), %xmm6
  movups 160(%rsp), %xmm7
  mov 192(%rsp), %rax
  mov 200(%rsp), %r10
  leave
  ret
  .size __fentry__, . - __fentry__
)");
