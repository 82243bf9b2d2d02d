// The memory operand of an x86-64 instruction that may have failed: which register its address came from.
//
//   const auto operand = MemoryOperandAt(code);  // of `mov 0x10(%rax),%rcx`: base rax, displacement 16
//
// Knows the instructions that compilers make for loads and stores of integers and of SSE registers. Of any other it
// says nothing.
#ifndef RECRASH_TESTGEN_SYMBOLS_VALUES_MEMORY_OPERAND_H_
#define RECRASH_TESTGEN_SYMBOLS_VALUES_MEMORY_OPERAND_H_

#include <cstdint>
#include <optional>
#include <span>

namespace recrash {

struct MemoryOperand {
  uint8_t base = 0;  // DWARF's number of the register
  int64_t displacement = 0;
  std::optional<uint8_t> loads;  // DWARF's number of the register that a plain `mov` of eight bytes loads from there
  size_t length = 0;             // of the instruction, if it loads
};

// `code` begins with the instruction. Nothing if it has no memory operand, or one with an index or relative to rip.
std::optional<MemoryOperand> MemoryOperandAt(std::span<const uint8_t> code);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_VALUES_MEMORY_OPERAND_H_
