// The numbers on the stack of a DWARF expression, and what can be calculated with them.
#ifndef RECRASH_TESTGEN_SYMBOLS_DWARF_EXPRESSION_ARITHMETIC_H_
#define RECRASH_TESTGEN_SYMBOLS_DWARF_EXPRESSION_ARITHMETIC_H_

#include <cstdint>
#include <optional>

namespace recrash {

struct StackValue {
  uint64_t bits = 0;       // extended to 64 bits as its type says
  uint8_t size = 8;        // of its type
  bool is_signed = false;  // of its type; the generic type is treated as DWARF says for each operation
  bool generic = true;
};

// Extends a value of `size` bytes to 64 bits.
uint64_t Extend(uint64_t bits, uint8_t size, bool is_signed);

// DW_OP_abs, DW_OP_neg, DW_OP_not, or DW_OP_plus_uconst with its operand.
StackValue Calculate(uint8_t atom, StackValue value, uint64_t operand);

// An operation on the two uppermost values. Nothing if there is no result (a division by zero) or if `atom` is no such
// operation: thread-local addresses, implicit pointers, vendors' own.
std::optional<StackValue> Calculate(uint8_t atom, StackValue left, StackValue right);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_DWARF_EXPRESSION_ARITHMETIC_H_
