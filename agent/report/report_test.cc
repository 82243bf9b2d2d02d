#include "agent/report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/base/crc32c.h"

namespace recrash {
namespace {

using testing::ElementsAre;
using testing::Optional;

Report TwoTouchingRegionsAndOneBeyond() {
  Report report;
  report.memory = {{{0x1000}, {1, 2, 3, 4, 5, 6, 7, 8}}, {{0x1008}, {9, 10, 11, 12}}, {{0x2000}, {13}}};
  return report;
}

TEST(ReportRead, CrossesFromRegionToRegion) {
  const Report report = TwoTouchingRegionsAndOneBeyond();
  std::array<uint8_t, 4> bytes{};
  EXPECT_TRUE(report.Read({0x1006}, bytes));
  EXPECT_THAT(bytes, ElementsAre(7, 8, 9, 10));
  EXPECT_THAT(report.ReadWord({0x1000}), Optional(0x0807060504030201u));
  EXPECT_THAT(report.ReadWord({0x1004}), Optional(0x0c0b0a0908070605u));
}

TEST(ReportRead, NeedsEveryByte) {
  const Report report = TwoTouchingRegionsAndOneBeyond();
  std::array<uint8_t, 2> bytes{};
  EXPECT_TRUE(report.Read({0x100a}, bytes));
  EXPECT_FALSE(report.Read({0x100b}, bytes));
  EXPECT_FALSE(report.Read({0xfff}, bytes));
  EXPECT_FALSE(report.Read({0x1fff}, bytes));
  EXPECT_FALSE(report.Read({0x2000}, bytes));
  EXPECT_FALSE(report.Read({0}, bytes));
  EXPECT_FALSE(report.Read({UINT64_MAX}, bytes));
  EXPECT_TRUE(report.Read({0x5000}, {}));
  EXPECT_FALSE(report.ReadWord({0x1005}));
  EXPECT_FALSE(Report().ReadWord({0x1000}));
}

TEST(ReportFind, KnowsBothEndsOfWhatItFinds) {
  Report report;
  report.modules = {{"a", "", {0x2000}, 0x1000, 0, true}, {"b", "", {0x4000}, 0x1000, 0, false}};
  report.mappings = {{{0x2000}, {0x3000}, kMapRead, 0, "a"}};
  EXPECT_EQ(report.FindModule({0x1fff}), nullptr);
  EXPECT_EQ(report.FindModule({0x2000}), &report.modules[0]);
  EXPECT_EQ(report.FindModule({0x2fff}), &report.modules[0]);
  EXPECT_EQ(report.FindModule({0x3000}), nullptr);
  EXPECT_EQ(report.FindModule({0x4000}), &report.modules[1]);
  EXPECT_EQ(report.FindMapping({0x1fff}), nullptr);
  EXPECT_EQ(report.FindMapping({0x2fff}), &report.mappings[0]);
  EXPECT_EQ(report.FindMapping({0x3000}), nullptr);
  EXPECT_EQ(report.program(), &report.modules[0]);
}

TEST(ReportFind, TellsTheFailingThread) {
  Report report;
  EXPECT_EQ(report.failing_thread(), nullptr);
  EXPECT_EQ(report.program(), nullptr);
  report.threads = {{1, "", false, {}}, {2, "", true, {}}};
  EXPECT_EQ(report.failing_thread(), &report.threads[1]);
}

// The check value that RFC 3720 and every CRC catalogue give.
TEST(Crc32c, IsTheOneOfTheStandard) {
  EXPECT_EQ(ExtendCrc32c(0, "123456789", 9), 0xe3069283u);
  EXPECT_EQ(ExtendCrc32c(ExtendCrc32c(0, "1234", 4), "56789", 5), 0xe3069283u);
  const std::array<uint8_t, 32> zeros{};
  EXPECT_EQ(ExtendCrc32c(0, zeros.data(), zeros.size()), 0x8a9136aau);
}

}  // namespace
}  // namespace recrash
