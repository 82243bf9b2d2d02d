// Where the registers stand that a report numbers as DWARF does: rax rdx rcx rbx rsi rdi rbp rsp r8..r15 rip.
#ifndef RECRASH_AGENT_BASE_SIGNAL_SAFE_REGISTER_ORDER_H_
#define RECRASH_AGENT_BASE_SIGNAL_SAFE_REGISTER_ORDER_H_

#include <sys/user.h>
#include <ucontext.h>

#include "shadowstack/abi.h"

namespace recrash {

// Index into gregset_t, which has the kernel's order.
inline constexpr int kContextRegisters[abi::kRegisterCount] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                                               REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                                               REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};

// What ptrace gives.
inline constexpr unsigned long long user_regs_struct::* kPtraceRegisters[abi::kRegisterCount] = {
    &user_regs_struct::rax, &user_regs_struct::rdx, &user_regs_struct::rcx, &user_regs_struct::rbx,
    &user_regs_struct::rsi, &user_regs_struct::rdi, &user_regs_struct::rbp, &user_regs_struct::rsp,
    &user_regs_struct::r8,  &user_regs_struct::r9,  &user_regs_struct::r10, &user_regs_struct::r11,
    &user_regs_struct::r12, &user_regs_struct::r13, &user_regs_struct::r14, &user_regs_struct::r15,
    &user_regs_struct::rip};

}  // namespace recrash

#endif  // RECRASH_AGENT_BASE_SIGNAL_SAFE_REGISTER_ORDER_H_
