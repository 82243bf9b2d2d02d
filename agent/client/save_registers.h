// Defines a function in assembly that first stores the registers of its caller, in the order of abi.h (DWARF's, then
// rip). In C++ the compiler would have changed them. Then comes `body`: the registers lie at %rsp.
// crash.cc has an example.
#ifndef RECRASH_AGENT_CLIENT_SAVE_REGISTERS_H_
#define RECRASH_AGENT_CLIENT_SAVE_REGISTERS_H_

#define RECRASH_WITH_CALLER_REGISTERS(binding, name, body)                                                  \
  asm(".pushsection .text." name ",\"ax\",@progbits\n" binding " " name "\n.type " name ",@function\n" name \
      ":\n.cfi_startproc\n" RECRASH_SAVE_CALLER_REGISTERS body "\n.cfi_endproc\n.size " name ", . - " name  \
      "\n.popsection")

#define RECRASH_DROP_REGISTERS "addq $136, %rsp\n.cfi_adjust_cfa_offset -136\n"

#define RECRASH_SAVE_CALLER_REGISTERS \
  R"(
  subq $136, %rsp
  .cfi_adjust_cfa_offset 136
  movq %rax, 0(%rsp)
  movq %rdx, 8(%rsp)
  movq %rcx, 16(%rsp)
  movq %rbx, 24(%rsp)
  movq %rsi, 32(%rsp)
  movq %rdi, 40(%rsp)
  movq %rbp, 48(%rsp)
  leaq 144(%rsp), %rax
  movq %rax, 56(%rsp)
  movq %r8, 64(%rsp)
  movq %r9, 72(%rsp)
  movq %r10, 80(%rsp)
  movq %r11, 88(%rsp)
  movq %r12, 96(%rsp)
  movq %r13, 104(%rsp)
  movq %r14, 112(%rsp)
  movq %r15, 120(%rsp)
  movq 136(%rsp), %rax
  movq %rax, 128(%rsp)
)"

#endif  // RECRASH_AGENT_CLIENT_SAVE_REGISTERS_H_
