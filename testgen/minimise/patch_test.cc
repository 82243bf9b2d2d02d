#include "testgen/minimise/patch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace recrash {
namespace {

using testing::ElementsAre;

TEST(Patch, JoinsWhatTouches) {
  EXPECT_THAT(Patch({{8, 16}, {0, 8}, {20, 20}, {30, 40}, {35, 50}}).ranges(),
              ElementsAre(ByteRange{0, 16}, ByteRange{30, 50}));
}

TEST(Patch, CombinesInAnyOrder) {
  const Patch one({{0, 8}, {32, 40}}), other({{4, 12}});
  EXPECT_EQ(Combine(one, other), Combine(other, one));
  EXPECT_EQ(Combine(one, other).size(), 20u);
  EXPECT_EQ(Combine(one, one), one);
  EXPECT_EQ(Combine(one, Patch()), one);
}

TEST(Patch, LeavesOut) {
  const Patch all({{0, 100}, {200, 300}}), kept({{10, 20}, {90, 210}, {299, 400}});
  EXPECT_THAT(Without(all, kept).ranges(), ElementsAre(ByteRange{0, 10}, ByteRange{20, 90}, ByteRange{210, 299}));
  EXPECT_EQ(Without(all, all), Patch());
  EXPECT_EQ(Combine(Without(all, kept), Intersect(all, kept)), all);
  EXPECT_THAT(Inside(all, {50, 250}).ranges(), ElementsAre(ByteRange{50, 100}, ByteRange{200, 250}));
  EXPECT_EQ(Inside(all, {100, 200}), Patch());
  EXPECT_EQ(Inside(all, {0, 300}), all);
}

TEST(Patch, AppliesToItsBytesAlone) {
  std::array<uint8_t, 8> bytes = {1, 2, 3, 4, 5, 6, 7, 8};
  Apply(Patch({{0x1000, 0x1002}, {0x1005, 0x2000}}), {.byte = 0xa5}, 0x1000, bytes);
  EXPECT_THAT(bytes, ElementsAre(0xa5, 0xa5, 3, 4, 5, 0xa5, 0xa5, 0xa5));
}

// Bytes depend on the address alone, however memory is cut into ranges.
TEST(Patch, RandomBytesDependOnTheAddressAlone) {
  std::array<uint8_t, 32> whole{};
  Apply(Patch({{0x1000, 0x1020}}), {.kind = plan::Fill::kRandom, .seed = 3}, 0x1000, whole);
  std::array<uint8_t, 8> part{};
  Apply(Patch({{0x100c, 0x1014}}), {.kind = plan::Fill::kRandom, .seed = 3}, 0x100c, part);
  EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + 12));
  std::array<uint8_t, 32> other{};
  Apply(Patch({{0x1000, 0x1020}}), {.kind = plan::Fill::kRandom, .seed = 4}, 0x1000, other);
  EXPECT_NE(whole, other);
}

}  // namespace
}  // namespace recrash
