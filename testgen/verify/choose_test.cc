#include "testgen/verify/choose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace recrash {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// `functions` are called in turn, again and again, by a main.
std::vector<ReplayFrame> Recursion(size_t depth, size_t functions) {
  std::vector<ReplayFrame> frames(depth);
  for (size_t i = 0; i < depth; ++i) {
    frames[i].index = static_cast<uint32_t>(i);
    frames[i].entry = {i + 1 == depth ? 0x9000 : 0x1000 + i % functions};
  }
  return frames;
}

std::vector<uint32_t> Indices(const std::vector<ReplayFrame>& frames) {
  std::vector<uint32_t> indices;
  for (const ReplayFrame& frame : frames) indices.push_back(frame.index);
  return indices;
}

TEST(ChooseFrames, TakesHalfFromEachEnd) {
  EXPECT_THAT(ChooseFrames(3, 200), ElementsAre(0, 1, 2));
  EXPECT_THAT(ChooseFrames(10, 4), ElementsAre(0, 1, 8, 9));
  EXPECT_THAT(ChooseFrames(10, 3), ElementsAre(0, 1, 9));
  EXPECT_THAT(ChooseFrames(10, 1), ElementsAre(0));
  EXPECT_THAT(ChooseFrames(0, 4), IsEmpty());
}

TEST(ChooseTests, LeavesAnOrdinaryStackAsItIs) { EXPECT_EQ(ChooseTests(Recursion(kManyTests, 1)).size(), kManyTests); }

TEST(ChooseTests, TakesAFewOfEachFunctionOfARecursion) {
  EXPECT_THAT(Indices(ChooseTests(Recursion(101, 1))), ElementsAre(0, 1, 98, 99, 100));
  EXPECT_THAT(Indices(ChooseTests(Recursion(201, 2))), ElementsAre(0, 1, 2, 3, 196, 197, 198, 199, 200));
}

}  // namespace
}  // namespace recrash
