// Tells bits of code that flipped from code that something has patched.
//
//   const CodeDifference difference = CompareCode(page, in_memory, in_file, PatchedBy::kNobody);
//   for (const FlippedByte& flipped : difference.flipped) ... FlippedBit(flipped)
#ifndef RECRASH_AGENT_PROCESS_CHANGED_CODE_H_
#define RECRASH_AGENT_PROCESS_CHANGED_CODE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "agent/report/report.h"

namespace recrash {

enum class PatchedBy : uint8_t {
  kNobody,  // as far as is known
  kAgent,   // entries of functions: each changes several bytes that lie together
};

struct CodeDifference {
  std::vector<FlippedByte> flipped;
  uint64_t changed = 0;  // other bytes; not counted where the agent patches
};

// Compares the code at `address`, a page or less, with that of its file. A byte counts as flipped only if one bit of it
// differs, and it is no breakpoint. Nothing else in the page may differ or, if the agent patches, nothing beside it.
// REQUIRES: both are of the same size.
CodeDifference CompareCode(TargetAddress address, std::span<const uint8_t> in_memory, std::span<const uint8_t> in_file,
                           PatchedBy patched);

// By the build's mode.
PatchedBy WhoPatches(const Report& report);

// The number of the bit, from 0. REQUIRES: one bit differs.
int FlippedBit(const FlippedByte& flipped);

}  // namespace recrash

#endif  // RECRASH_AGENT_PROCESS_CHANGED_CODE_H_
