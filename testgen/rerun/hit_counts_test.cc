#include "testgen/rerun/hit_counts.h"

#include <gmock/gmock.h>

namespace recrash {
namespace {

constexpr uint64_t kVisit = 0x1000;
constexpr uint64_t kIterate = 0x2000;
constexpr uint64_t kMain = 0x3000;

// Three siblings were visited at one stack depth before the fourth crashed: the fourth is the live frame.
TEST(HitCounts, TakesTheLastEntryAtAStackPointer) {
  HitCounts counts(100);
  for (int i = 0; i < 4; ++i) counts.Count(kVisit, 0x7000);
  counts.Count(kVisit, 0x6000);
  EXPECT_EQ(counts.Last(kVisit, 0x7000), 4u);
  EXPECT_EQ(counts.Last(kVisit, 0x6000), 5u);
  EXPECT_EQ(counts.Last(kVisit, 0x5000), 0u);
  EXPECT_EQ(counts.Entries(kVisit), 5u);
}

TEST(HitCounts, GivesUpAFunctionThatIsEnteredTooOften) {
  HitCounts counts(3);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(counts.Count(kVisit, 0x7000));
  EXPECT_FALSE(counts.IsHot(kVisit));
  EXPECT_FALSE(counts.Count(kVisit, 0x7000));
  EXPECT_TRUE(counts.IsHot(kVisit));
  EXPECT_EQ(counts.Last(kVisit, 0x7000), 0u);
}

// visit <- iterate <- visit <- iterate <- main, where visit is hot: both of its frames are counted from main's entry
// on, since a gate inside of its outer frame would come too late for that one.
TEST(Gates, LieOutsideOfAllFramesOfTheHotFunction) {
  HitCounts counts(3);
  for (int i = 0; i < 9; ++i) counts.Count(kVisit, 0x7000);
  std::vector<FrameEntry> frames = {{0, kVisit, 0x5000, 0, {}},
                                    {1, kIterate, 0x5500, 8, {}},
                                    {2, kVisit, 0x6000, 0, {}},
                                    {3, kIterate, 0x6500, 2, {}},
                                    {4, kMain, 0x7000, 1, {}}};
  EXPECT_TRUE(ChooseGates(counts, &frames));
  EXPECT_EQ(frames[0].gate, 3u);
  EXPECT_EQ(frames[2].gate, 3u);
  EXPECT_FALSE(frames[1].gate);
}

TEST(Gates, AreNotThereWhenTheOutermostFunctionIsHot) {
  HitCounts counts(3);
  for (int i = 0; i < 9; ++i) counts.Count(kMain, 0x7000);
  std::vector<FrameEntry> frames = {{0, kVisit, 0x5000, 1, {}}, {1, kMain, 0x7000, 0, {}}};
  EXPECT_FALSE(ChooseGates(counts, &frames));
}

}  // namespace
}  // namespace recrash
