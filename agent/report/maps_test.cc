#include "agent/report/maps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace recrash {
namespace {

constexpr char kSmaps[] =
    "00400000-00402000 r--p 00000000 fe:01 1234    /usr/bin/server\n"
    "Size:                  8 kB\n"
    "AnonHugePages:         0 kB\n"
    "VmFlags: rd mr mw me dd \n"
    "01000000-01004000 rw-p 00000000 00:00 0       [heap]\n"
    "VmFlags: rd wr mr mw me ac sd \n"
    "02000000-02004000 rw-p 00000000 00:00 0 \n"
    "VmFlags: rd wr mr mw me dd ac\n";

// Of what cannot be written nothing is kept anyway.
TEST(Smaps, SayWhichMemoryIsExcludedFromDumps) {
  const std::vector<Mapping> mappings = ParseMaps(kSmaps);
  ASSERT_EQ(mappings.size(), 3u);
  EXPECT_EQ(mappings[0].flags, kMapRead);
  EXPECT_EQ(mappings[1].flags, kMapRead | kMapWrite);
  EXPECT_EQ(mappings[2].flags, kMapRead | kMapWrite | kMapWithheld);
  EXPECT_TRUE(IsPrivateWritable(mappings[1]));
  EXPECT_FALSE(IsPrivateWritable(mappings[2]));
  EXPECT_EQ(WithheldBytes(mappings), 0x4000u);
}

// A replay puts a region back into one mapping, and leaves out one that is in none.
TEST(CutAtMappings, LeavesEachRegionInOneMapping) {
  const std::vector<Mapping> mappings = ParseMaps(
      "1000-3000 rw-p 00000000 00:00 0 \n3000-4000 rw-p 00000000 00:00 0 \n4000-9000 rw-p 00000000 00:00 0 \n");
  const std::vector<uint8_t> bytes(0x3000, 7);
  const std::vector<Region> cut =
      CutAtMappings({{{0x800}, {1}}, {{0x2000}, bytes}, {{0x6000}, bytes}, {{0xa000}, {2}}}, mappings);
  std::vector<std::pair<uint64_t, size_t>> found;
  for (const Region& region : cut) found.push_back({region.address.value, region.bytes.size()});
  EXPECT_THAT(found, testing::ElementsAre(std::pair(0x800, 1), std::pair(0x2000, 0x1000), std::pair(0x3000, 0x1000),
                                          std::pair(0x4000, 0x1000), std::pair(0x6000, 0x3000), std::pair(0xa000, 1)));
  EXPECT_EQ(cut.back().bytes[0], 2);
}

TEST(Withhold, CutsMappingsAtPages) {
  std::vector<Mapping> mappings = ParseMaps(kSmaps);
  Withhold({0x1001010}, {0x1001020}, &mappings);
  ASSERT_EQ(mappings.size(), 5u);
  EXPECT_EQ(mappings[1].end.value, 0x1001000u);
  EXPECT_EQ(mappings[2].end.value, 0x1002000u);
  EXPECT_EQ(mappings[2].flags & kMapWithheld, kMapWithheld);
  EXPECT_EQ(mappings[3].start.value, 0x1002000u);
  EXPECT_EQ(mappings[3].flags & kMapWithheld, 0u);
  Withhold({0}, {UINT64_MAX}, &mappings);
  EXPECT_EQ(WithheldBytes(mappings), 0x8000u);
}

TEST(DropWithheld, TakesTheirBytesOutOfAllThatHasBytes) {
  Report report;
  report.mappings = ParseMaps(kSmaps);
  const Region heap{{0x1000000}, std::vector<uint8_t>(0x4000, 1)};
  report.memory = {heap};
  report.snapshots.emplace().states.emplace_back().memory = EntryMemory({heap});
  report.thrown = ThrownStack{{}, {0x1001800}, std::vector<uint8_t>(0x1000)};
  report.replaced = {"St12out_of_range", "", {{}, {0x1000800}, std::vector<uint8_t>(0x1000)}};
  Withhold({0x1001000}, {0x1002000}, &report.mappings);
  DropWithheld(&report);
  for (const std::vector<Region>& memory : {report.memory, report.snapshots->states[0].memory.own()}) {
    ASSERT_EQ(memory.size(), 2u);
    EXPECT_EQ(memory[0].bytes.size(), 0x1000u);
    EXPECT_EQ(memory[1].address.value, 0x1002000u);
    EXPECT_EQ(memory[1].bytes.size(), 0x2000u);
  }
  EXPECT_FALSE(report.thrown);
  EXPECT_FALSE(report.replaced);
}

}  // namespace
}  // namespace recrash
