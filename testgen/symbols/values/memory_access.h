// The memory that an x86-64 instruction reads or writes, as a sum of registers.
//
//   const watch::Instruction instruction = watch::DecodeInstruction(code.data(), code.size(), 0);
//   const auto access = MemoryAccessOf(code, instruction);  // of `mov (%rax,%rcx,8),%edx`: base rax, index rcx, scale
//   8
//
// Instructions that only compute an address (lea), give a hint (prefetch) or do nothing (nop) read no memory. Of
// operands relative to rip or to a segment, of string instructions and of AVX-512 it says nothing.
#ifndef RECRASH_TESTGEN_SYMBOLS_VALUES_MEMORY_ACCESS_H_
#define RECRASH_TESTGEN_SYMBOLS_VALUES_MEMORY_ACCESS_H_

#include <cstdint>
#include <optional>
#include <span>

#include "agent/client/watch/instruction.h"

namespace recrash {

// Registers by the processor's numbers: rax rcx rdx rbx rsp rbp rsi rdi r8 to r15.
constexpr uint8_t kNoRegister = 0xff;

struct MemoryAccess {
  uint8_t base = kNoRegister;
  uint8_t index = kNoRegister;
  uint8_t scale = 1;
  int32_t displacement = 0;
};

// `code` begins with the instruction.
std::optional<MemoryAccess> MemoryAccessOf(std::span<const uint8_t> code, const watch::Instruction& instruction);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_VALUES_MEMORY_ACCESS_H_
