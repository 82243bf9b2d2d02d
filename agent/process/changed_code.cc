#include "agent/process/changed_code.h"

#include <bit>

#include "shadowstack/modes.h"

namespace recrash {
namespace {

// The agent's patch changes bytes that lie together. One of them may be as it was by chance.
constexpr size_t kNear = 2;
// A debugger's, or a probe's. Many instructions begin with a byte that differs from it by one bit: 0x4c, 0xc4, 0xec.
constexpr uint8_t kBreakpoint = 0xcc;

bool IsOneBit(uint8_t a, uint8_t b) { return std::has_single_bit(static_cast<uint8_t>(a ^ b)); }

bool IsAlone(const std::vector<size_t>& changed, size_t i) {
  return (i == 0 || changed[i] - changed[i - 1] > kNear) &&
         (i + 1 == changed.size() || changed[i + 1] - changed[i] > kNear);
}

}  // namespace

CodeDifference CompareCode(TargetAddress address, std::span<const uint8_t> in_memory, std::span<const uint8_t> in_file,
                           PatchedBy patched) {
  std::vector<size_t> changed;
  for (size_t i = 0; i < in_memory.size(); ++i)
    if (in_memory[i] != in_file[i]) changed.push_back(i);
  CodeDifference difference;
  for (size_t i = 0; i < changed.size(); ++i) {
    const FlippedByte byte = {address + changed[i], in_file[changed[i]], in_memory[changed[i]]};
    const bool is_alone = patched == PatchedBy::kAgent ? IsAlone(changed, i) : changed.size() == 1;
    if (is_alone && byte.in_memory != kBreakpoint && IsOneBit(byte.in_file, byte.in_memory))
      difference.flipped.push_back(byte);
    else if (patched == PatchedBy::kNobody)
      ++difference.changed;
  }
  return difference;
}

PatchedBy WhoPatches(const Report& report) {
  const abi::ModeTraits* mode = abi::ModeNamed(report.process.mode);
  return mode != nullptr && mode->patchable ? PatchedBy::kAgent : PatchedBy::kNobody;
}

int FlippedBit(const FlippedByte& flipped) {
  return std::countr_zero(static_cast<uint8_t>(flipped.in_file ^ flipped.in_memory));
}

}  // namespace recrash
