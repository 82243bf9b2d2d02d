// After the opcode maps of Intel's manual, volume 2, appendix A.
#include "testgen/symbols/values/memory_access.h"

#include <algorithm>
#include <cstring>

namespace recrash {
namespace {

// What stands before the ModRM byte.
struct Head {
  unsigned map = 0;  // of opcodes: 0 one byte, 1 behind 0f, 2 behind 0f 38, 3 behind 0f 3a
  uint8_t opcode = 0;
  bool extends_base = false;
  bool extends_index = false;
};

std::optional<Head> ReadHead(std::span<const uint8_t> code, size_t modrm) {
  constexpr uint8_t kHarmless[] = {0x26, 0x2e, 0x36, 0x3e, 0x66, 0xf0, 0xf2, 0xf3};
  Head head;
  size_t at = 0;
  while (at < modrm && std::ranges::find(kHarmless, code[at]) != std::end(kHarmless)) ++at;
  if (at < modrm && (code[at] & 0xf0) == 0x40) {
    head.extends_base = (code[at] & 1) != 0;
    head.extends_index = (code[at] & 2) != 0;
    ++at;
  }
  if (at >= modrm) return std::nullopt;
  head.opcode = code[modrm - 1];
  const size_t left = modrm - at;
  switch (code[at]) {
    case 0x64:  // fs
    case 0x65:  // gs
    case 0x67:  // addresses of 32 bits
    case 0x62:  // EVEX
      return std::nullopt;
    case 0xc5:
      if (left != 3) break;
      head.map = 1;
      return head;
    case 0xc4:
      if (left != 4) break;
      head.map = code[at + 1] & 0x1f;
      head.extends_base = (code[at + 1] & 0x20) == 0;
      head.extends_index = (code[at + 1] & 0x40) == 0;
      return head;
    case 0x0f:
      head.map = left == 2 ? 1 : code[at + 1] == 0x38 ? 2 : 3;
      return head;
    default:
      break;
  }
  if (left != 1) return std::nullopt;
  return head;
}

// Does the instruction access the memory that its operand names, and no other?
bool Accesses(const Head& head) {
  constexpr uint8_t kNotOneByte[] = {0x8d, 0x8f};
  // System instructions, prefetch, nop, bit strings (their operand may lie far from its address), fences.
  constexpr uint8_t kNotTwoBytes[] = {0x00, 0x01, 0x0d, 0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d,
                                      0x1e, 0x1f, 0xa3, 0xab, 0xb3, 0xbb, 0xae, 0xc7};
  const auto among = [&](std::span<const uint8_t> list) { return std::ranges::find(list, head.opcode) != list.end(); };
  switch (head.map) {
    case 0:
      return !among(kNotOneByte);
    case 1:
      return !among(kNotTwoBytes);
    case 2:
      return head.opcode < 0x80 || head.opcode >= 0x96;  // invalidations, gathers
    default:
      return head.map == 3;
  }
}

}  // namespace

std::optional<MemoryAccess> MemoryAccessOf(std::span<const uint8_t> code, const watch::Instruction& instruction) {
  if (instruction.size == 0 || instruction.modrm == 0 || instruction.size > code.size()) return std::nullopt;
  const auto head = ReadHead(code, instruction.modrm);
  if (!head || !Accesses(*head)) return std::nullopt;
  size_t at = instruction.modrm;
  const unsigned mode = code[at] >> 6;
  uint8_t base = code[at++] & 7;
  if (mode == 3 || (mode == 0 && base == 5)) return std::nullopt;
  MemoryAccess access;
  bool has_base = true;
  if (base == 4) {
    const uint8_t sib = code[at++];
    const auto index = static_cast<uint8_t>((sib >> 3 & 7) | (head->extends_index ? 8 : 0));
    if (index != 4) access.index = index;
    access.scale = static_cast<uint8_t>(1 << (sib >> 6));
    base = sib & 7;
    has_base = mode != 0 || base != 5;
  }
  if (has_base) access.base = static_cast<uint8_t>(base | (head->extends_base ? 8 : 0));
  if (access.base == kNoRegister && access.index == kNoRegister) return std::nullopt;
  const size_t width = mode == 1 ? 1 : mode == 2 || !has_base ? 4 : 0;
  if (at + width > instruction.size) return std::nullopt;
  if (width == 1) access.displacement = static_cast<int8_t>(code[at]);
  if (width == 4) std::memcpy(&access.displacement, &code[at], sizeof access.displacement);
  return access;
}

}  // namespace recrash
