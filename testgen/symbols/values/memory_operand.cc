#include "testgen/symbols/values/memory_operand.h"

#include <algorithm>
#include <cstring>

namespace recrash {
namespace {

// The processor's numbers are rax rcx rdx rbx rsp rbp rsi rdi, DWARF's rax rdx rcx rbx rsi rdi rbp rsp.
constexpr uint8_t kDwarf[] = {0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15};

constexpr uint8_t kOneByte[] = {0x01, 0x03, 0x09, 0x0b, 0x21, 0x23, 0x29, 0x2b, 0x31, 0x33,
                                0x38, 0x39, 0x3a, 0x3b, 0x63, 0x80, 0x81, 0x83, 0x84, 0x85,
                                0x88, 0x89, 0x8a, 0x8b, 0xc6, 0xc7, 0xf6, 0xf7, 0xfe, 0xff};
constexpr uint8_t kTwoBytes[] = {0x10, 0x11, 0x12, 0x13, 0x16, 0x17, 0x28, 0x29, 0x2a, 0x2e,
                                 0x2f, 0x51, 0x54, 0x57, 0x58, 0x59, 0x5a, 0x5c, 0x5e, 0x6e,
                                 0x6f, 0x7e, 0x7f, 0xaf, 0xb6, 0xb7, 0xbe, 0xbf, 0xd6};

}  // namespace

std::optional<MemoryOperand> MemoryOperandAt(std::span<const uint8_t> code) {
  size_t at = 0;
  const auto next = [&]() -> uint8_t { return at < code.size() ? code[at++] : 0xf4; };  // hlt is in no table
  uint8_t byte = next(), rex = 0;
  while (byte == 0x66 || byte == 0xf2 || byte == 0xf3 || byte == 0xf0) byte = next();
  if ((byte & 0xf0) == 0x40) {
    rex = byte;
    byte = next();
  }
  const bool two = byte == 0x0f;
  if (two) byte = next();
  const std::span<const uint8_t> known = two ? std::span<const uint8_t>(kTwoBytes) : std::span<const uint8_t>(kOneByte);
  if (std::ranges::find(known, byte) == known.end()) return std::nullopt;
  const uint8_t modrm = next(), mode = modrm >> 6;
  uint8_t base = modrm & 7;
  if (mode == 3 || (mode == 0 && base == 5)) return std::nullopt;
  if (base == 4) {
    const uint8_t sib = next();
    base = sib & 7;
    const bool has_index = (sib >> 3 & 7) != 4 || (rex & 2) != 0;
    if (has_index || (mode == 0 && base == 5)) return std::nullopt;
  }
  MemoryOperand operand;
  operand.base = kDwarf[base | ((rex & 1) << 3)];
  const size_t width = mode == 1 ? 1 : mode == 2 ? 4 : 0;
  if (code.size() - at < width) return std::nullopt;
  if (width == 1) operand.displacement = static_cast<int8_t>(code[at]);
  if (width == 4) {
    int32_t wide = 0;
    std::memcpy(&wide, &code[at], sizeof wide);
    operand.displacement = wide;
  }
  if (!two && byte == 0x8b && (rex & 8) != 0) {
    operand.loads = kDwarf[(modrm >> 3 & 7) | ((rex & 4) << 1)];
    operand.length = at + width;
  }
  return operand;
}

}  // namespace recrash
