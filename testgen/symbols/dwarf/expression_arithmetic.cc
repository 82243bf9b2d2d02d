#include "testgen/symbols/dwarf/expression_arithmetic.h"

#include <dwarf.h>

#include <algorithm>

namespace recrash {

uint64_t Extend(uint64_t bits, uint8_t size, bool is_signed) {
  if (size >= 8) return bits;
  const uint64_t mask = (uint64_t{1} << (size * 8)) - 1;
  bits &= mask;
  if (is_signed && (bits >> (size * 8 - 1) & 1) != 0) bits |= ~mask;
  return bits;
}

StackValue Calculate(uint8_t atom, StackValue value, uint64_t operand) {
  switch (atom) {
    case DW_OP_abs:
      if (static_cast<int64_t>(value.bits) < 0) value.bits = -value.bits;
      break;
    case DW_OP_neg:
      value.bits = -value.bits;
      break;
    case DW_OP_not:
      value.bits = ~value.bits;
      break;
    default:
      value.bits += operand;
  }
  value.bits = Extend(value.bits, value.size, value.is_signed);
  return value;
}

std::optional<StackValue> Calculate(uint8_t atom, StackValue left, StackValue right) {
  const uint64_t a = left.bits;
  const uint64_t b = right.bits;
  const auto sa = static_cast<int64_t>(a);
  const auto sb = static_cast<int64_t>(b);
  const bool is_signed = left.generic || left.is_signed;
  const auto typed = [&](uint64_t bits) -> std::optional<StackValue> {
    left.bits = Extend(bits, left.size, left.is_signed);
    return left;
  };
  const auto compare = [&](bool signed_result, bool unsigned_result) -> std::optional<StackValue> {
    return StackValue{is_signed ? signed_result : unsigned_result};
  };
  switch (atom) {
    case DW_OP_and:
      return typed(a & b);
    case DW_OP_or:
      return typed(a | b);
    case DW_OP_xor:
      return typed(a ^ b);
    case DW_OP_plus:
      return typed(a + b);
    case DW_OP_minus:
      return typed(a - b);
    case DW_OP_mul:
      return typed(a * b);
    case DW_OP_div:
      if (b == 0 || (is_signed && sa == INT64_MIN && sb == -1)) return std::nullopt;
      return typed(is_signed ? static_cast<uint64_t>(sa / sb) : a / b);
    case DW_OP_mod:  // unsigned for the generic type
      if (b == 0 || (left.is_signed && sb == -1)) return std::nullopt;
      return typed(left.is_signed ? static_cast<uint64_t>(sa % sb) : a % b);
    case DW_OP_shl:
      return typed(b < 64 ? a << b : 0);
    case DW_OP_shr:
      return typed(b < 64 ? Extend(a, left.size, false) >> b : 0);
    case DW_OP_shra:
      return typed(static_cast<uint64_t>(sa >> std::min<uint64_t>(b, 63)));
    case DW_OP_eq:
      return compare(a == b, a == b);
    case DW_OP_ne:
      return compare(a != b, a != b);
    case DW_OP_lt:
      return compare(sa < sb, a < b);
    case DW_OP_le:
      return compare(sa <= sb, a <= b);
    case DW_OP_gt:
      return compare(sa > sb, a > b);
    case DW_OP_ge:
      return compare(sa >= sb, a >= b);
    default:
      return std::nullopt;
  }
}

}  // namespace recrash
