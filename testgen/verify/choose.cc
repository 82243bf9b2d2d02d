#include "testgen/verify/choose.h"

#include <algorithm>
#include <map>

namespace recrash {

std::vector<uint32_t> ChooseFrames(size_t all, uint32_t most) {
  std::vector<uint32_t> chosen;
  for (size_t i = 0; i < all; ++i) {
    const bool inner = i < (most + 1) / 2;
    const bool outer = i + most / 2 >= all;
    if (all <= most || inner || outer) chosen.push_back(static_cast<uint32_t>(i));
  }
  return chosen;
}

std::vector<ReplayFrame> ChooseTests(const std::vector<ReplayFrame>& frames) {
  if (frames.size() <= kManyTests) return frames;
  std::map<TargetAddress, std::vector<uint32_t>> by_function;
  for (size_t i = 0; i < frames.size(); ++i)
    by_function[frames[i].function_address()].push_back(static_cast<uint32_t>(i));
  std::vector<uint32_t> positions;
  for (const auto& [entry, calls] : by_function)
    for (const uint32_t chosen : ChooseFrames(calls.size(), kTestsOfAFunction)) positions.push_back(calls[chosen]);
  std::ranges::sort(positions);
  std::vector<ReplayFrame> tests;
  for (const uint32_t position : positions) tests.push_back(frames[position]);
  return tests;
}

}  // namespace recrash
