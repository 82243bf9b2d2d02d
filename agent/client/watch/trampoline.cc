// At a function's entry any register may matter: arguments by conventions of the compiler's own (fastcc,
// preserve_most), the number of vector arguments in al, a static chain in r10, vectors of 32 and 64 bytes, x87 and
// rounding modes. So the trampoline saves all: general registers and flags by pushes, the rest by xsave, with those
// parts of vector registers that legacy fxsave does not know, since memcpy in the recorder uses them. AMX tiles (8 KiB)
// and protection keys are left out: code compiled for the baseline, and libc, do not touch them.
//
// Near the end of its stack the trampoline does nothing: an overflow must be the program's. It and the recorder need
// some 10 KiB of stack.
//
// CFI: the caller's frame is that of the function's caller, two return addresses up. Neither the stub, which has no
// CFI, nor the function, which has not begun, is a frame.
#include "agent/client/watch/trampoline.h"

#include <cpuid.h>
#include <stdint.h>

#include "shadowstack/entry_hook.h"

extern "C" {
// Read by the assembly below; mask 0: legacy fxsave.
__attribute__((visibility("hidden"))) uint32_t recrash_xsave_mask;
__attribute__((visibility("hidden"))) uint32_t recrash_xsave_size;
__attribute__((visibility("hidden"), tls_model("initial-exec"))) thread_local uint64_t recrash_stack_low;
__attribute__((visibility("hidden"))) void recrash_entry_trampoline();

// Stands in where the recorder is not linked.
__attribute__((weak)) void recrash_on_entry(const EntryRegisters*, int32_t*) {}
}

asm(R"(
  .pushsection .text.recrash_entry_trampoline, "ax", @progbits
  .globl recrash_entry_trampoline
  .hidden recrash_entry_trampoline
  .hidden recrash_on_entry
  .type recrash_entry_trampoline, @function
recrash_entry_trampoline:
  .cfi_startproc
  .cfi_def_cfa %rsp, 16
  pushfq
  .cfi_def_cfa_offset 24
  pushq %rbp
  .cfi_def_cfa_offset 32
  .cfi_offset %rbp, -32
  movq recrash_stack_low@gottpoff(%rip), %rbp
  movq %fs:(%rbp), %rbp
  subq %rsp, %rbp
  negq %rbp
  cmpq $32768, %rbp                 /* without a sign: on another stack it is far away */
  jb 5f
  movq %rsp, %rbp
  .cfi_remember_state
  .cfi_def_cfa_register %rbp
  pushq %rax
  pushq %rcx
  pushq %rdx
  pushq %rsi
  pushq %rdi
  pushq %r8
  pushq %r9
  pushq %r10
  pushq %r11
  pushq %rbx
  .cfi_offset %rbx, -112
  cld
  movl recrash_xsave_size(%rip), %ecx
  subq %rcx, %rsp
  andq $-64, %rsp
  movq %rsp, %rbx
  movl recrash_xsave_mask(%rip), %eax
  testl %eax, %eax
  je 1f
  xorl %edx, %edx
  movq %rdx, 512(%rbx)              /* xrstor refuses a header that is not zero where xsave leaves it alone */
  movq %rdx, 520(%rbx)
  movq %rdx, 528(%rbx)
  movq %rdx, 536(%rbx)
  movq %rdx, 544(%rbx)
  movq %rdx, 552(%rbx)
  movq %rdx, 560(%rbx)
  movq %rdx, 568(%rbx)
  xsave64 (%rbx)
  jmp 2f
1:
  fxsave64 (%rbx)
2:
  subq $192, %rsp                   /* EntryRegisters */
  movq -40(%rbp), %rax
  movq %rax, (%rsp)                 /* rdi */
  movq -32(%rbp), %rax
  movq %rax, 8(%rsp)                /* rsi */
  movq -24(%rbp), %rax
  movq %rax, 16(%rsp)               /* rdx */
  movq -16(%rbp), %rax
  movq %rax, 24(%rsp)               /* rcx */
  movq %r8, 32(%rsp)
  movq %r9, 40(%rsp)
  movups %xmm0, 48(%rsp)
  movups %xmm1, 64(%rsp)
  movups %xmm2, 80(%rsp)
  movups %xmm3, 96(%rsp)
  movups %xmm4, 112(%rsp)
  movups %xmm5, 128(%rsp)
  movups %xmm6, 144(%rsp)
  movups %xmm7, 160(%rsp)
  movq 16(%rbp), %rax               /* the stub's code; Stub::entry lies 22 bytes before it */
  movslq -12(%rax), %rsi            /* the distance in Stub::count, from 8 bytes before the code */
  leaq -8(%rax,%rsi), %rsi
  movq -22(%rax), %rax
  movq %rax, 176(%rsp)
  leaq 24(%rbp), %rax
  movq %rax, 184(%rsp)
  movq %rsp, %rdi
  call recrash_on_entry
  movl recrash_xsave_mask(%rip), %eax
  testl %eax, %eax
  je 3f
  xorl %edx, %edx
  xrstor64 (%rbx)
  jmp 4f
3:
  fxrstor64 (%rbx)
4:
  movq -8(%rbp), %rax
  movq -16(%rbp), %rcx
  movq -24(%rbp), %rdx
  movq -32(%rbp), %rsi
  movq -40(%rbp), %rdi
  movq -48(%rbp), %r8
  movq -56(%rbp), %r9
  movq -64(%rbp), %r10
  movq -72(%rbp), %r11
  movq -80(%rbp), %rbx
  .cfi_restore %rbx
  movq %rbp, %rsp
  .cfi_def_cfa_register %rsp
  popq %rbp
  .cfi_restore %rbp
  .cfi_def_cfa_offset 24
  popfq
  .cfi_def_cfa_offset 16
  ret
5:
  .cfi_restore_state
  popq %rbp
  .cfi_restore %rbp
  .cfi_def_cfa_offset 24
  popfq
  .cfi_def_cfa_offset 16
  ret
  .cfi_endproc
  .size recrash_entry_trampoline, .-recrash_entry_trampoline
  .popsection
)");

namespace recrash::watch {
namespace {

__attribute__((tls_model("initial-exec"))) thread_local uint64_t t_stack_high;

constexpr uint32_t kLegacySize = 512;
constexpr uint32_t kKept = 0xe7;  // x87, SSE, AVX, and the three parts of AVX-512

uint32_t EnabledFeatures() {
  uint32_t a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & bit_OSXSAVE) == 0) return 0;
  uint32_t low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

// In the standard layout each part has a place of its own, whatever else is kept.
uint32_t SizeOf(uint32_t mask) {
  uint32_t end = kLegacySize + 64;
  for (uint32_t feature = 2; feature < 8; ++feature) {
    if ((mask & (1u << feature)) == 0) continue;
    uint32_t size = 0, offset = 0, c = 0, d = 0;
    __cpuid_count(0xd, feature, size, offset, c, d);
    if (offset + size > end) end = offset + size;
  }
  return end;
}

}  // namespace

void PrepareTrampoline() {
  recrash_xsave_mask = EnabledFeatures() & kKept;
  recrash_xsave_size = recrash_xsave_mask == 0 ? kLegacySize : SizeOf(recrash_xsave_mask);
}

void SetStackBounds(StackBounds bounds) {
  recrash_stack_low = bounds.low;
  t_stack_high = bounds.high;
}

StackBounds ThreadStackBounds() { return {recrash_stack_low, t_stack_high}; }

TrampolineCode Trampoline() { return recrash_entry_trampoline; }

}  // namespace recrash::watch
