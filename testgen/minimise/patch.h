// Bytes of memory, and of registers (plan::RegisterAddress), that an experiment replaces: a value.
//
//   const Patch rest = Without(all, kept);
//   Apply(rest, fill, address, bytes);
#ifndef RECRASH_TESTGEN_MINIMISE_PATCH_H_
#define RECRASH_TESTGEN_MINIMISE_PATCH_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "testgen/replay/plan/fill.h"

namespace recrash {

struct ByteRange {
  uint64_t start = 0;
  uint64_t end = 0;
  auto operator<=>(const ByteRange&) const = default;
  uint64_t size() const { return end - start; }
};

class Patch {
 public:
  Patch() = default;
  // In any order; they may overlap. Empty ones are left out.
  explicit Patch(std::vector<ByteRange> ranges);

  const std::vector<ByteRange>& ranges() const { return ranges_; }  // ascending, with gaps between them
  uint64_t size() const;                                            // in bytes
  bool empty() const { return ranges_.empty(); }
  bool operator==(const Patch&) const = default;

 private:
  std::vector<ByteRange> ranges_;
};

// What either of them replaces. The order does not matter.
Patch Combine(const Patch& one, const Patch& other);
Patch Combine(std::span<const Patch> all);
// What `all` replaces and `kept` does not.
Patch Without(const Patch& all, const Patch& kept);
// What both replace.
Patch Intersect(const Patch& one, const Patch& other);
// What the patch replaces in the range.
Patch Inside(const Patch& patch, const ByteRange& range);

// Fills those of the bytes at `address` that the patch replaces.
void Apply(const Patch& patch, const plan::Fill& fill, uint64_t address, std::span<uint8_t> bytes);

std::vector<plan::Piece> PiecesOf(const Patch& patch);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_MINIMISE_PATCH_H_
