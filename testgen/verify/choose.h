// Which frames of a deep stack are replayed, and which of those that reproduce get a test.
#ifndef RECRASH_TESTGEN_VERIFY_CHOOSE_H_
#define RECRASH_TESTGEN_VERIFY_CHOOSE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "agent/report/report.h"

namespace recrash {

// More tests than this come of a recursion; then there are so many of each function.
inline constexpr size_t kManyTests = 40;
inline constexpr size_t kTestsOfAFunction = 4;

// Positions below `all`, at most `most`: half from each end. Innermost frames show the failure, outermost ones its
// cause.
std::vector<uint32_t> ChooseFrames(size_t all, uint32_t most);

// The frames (innermost first) that get a test: all, or of a recursion so many of each function, half from each end.
// Two hundred tests of one function are not read, and would all be red and green together.
std::vector<ReplayFrame> ChooseTests(const std::vector<ReplayFrame>& frames);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_VERIFY_CHOOSE_H_
