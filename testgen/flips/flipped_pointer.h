// Finds the pointer that a failing instruction used and of which one bit seems to be flipped.
//
//   if (const auto pointer = FindFlippedPointer(report, symbols, backtrace.frames)) ... PutRight(...)
//
// Only a guess, which a replay has to prove (put_right.h). The pointer leads nowhere. With exactly one of its bits 12
// to 63 the other way round it leads into a live object; whichever other bit is flipped, it does not. What programs do
// by themselves is told apart:
//   - the access lies within a page of used memory: something ran over its end;
//   - it lies below a stack: the stack overflowed;
//   - other words of the program carry the same upper bit: it tags its pointers;
//   - a register or the innermost stack has the distance in elements of two to eight bytes: an index was wrong.
#ifndef RECRASH_TESTGEN_FLIPS_FLIPPED_POINTER_H_
#define RECRASH_TESTGEN_FLIPS_FLIPPED_POINTER_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "agent/report/report.h"
#include "testgen/flips/live_objects.h"
#include "testgen/symbols/stack/frame.h"
#include "testgen/symbols/symbols.h"

namespace recrash {

constexpr int kLowestBit = 12;  // a lower one leads to the same page

struct FlippedPointer {
  uint64_t value = 0;  // as it was
  int bit = 0;
  LiveObject object;  // that it led to before
  bool is_function = false;
  std::string place;  // as UsedPointer has it

  uint64_t right() const {
    return value ^ uint64_t { 1 } << bit;
  }
  // A word that leads into the object once the bit is the other way round.
  bool IsSo(uint64_t word) const { return word == value || (!is_function && object.Holds(word ^ uint64_t{1} << bit)); }
};

// `frames` are those of the failing thread, innermost first.
std::optional<FlippedPointer> FindFlippedPointer(const Report& report, const Symbols& symbols,
                                                 std::span<const Frame> frames);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_FLIPS_FLIPPED_POINTER_H_
