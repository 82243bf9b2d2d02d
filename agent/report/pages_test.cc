#include "agent/report/pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/base/testing_files.h"
#include "agent/report/writer.h"

namespace recrash {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

constexpr uint64_t kPage = 4096;

Region Filled(uint64_t address, std::initializer_list<uint8_t> fills) {
  Region region{{address}, {}};
  for (const uint8_t fill : fills) region.bytes.insert(region.bytes.end(), kPage, fill);
  return region;
}

std::map<uint64_t, int> FirstBytes(const Pages& pages) {
  std::map<uint64_t, int> bytes;
  for (const auto& [address, content] : pages) bytes[address] = *content;
  return bytes;
}

class SuccessiveStates : public testing::Test {
 protected:
  SuccessiveStates() {
    report_.mappings = {{{0x10000}, {0x20000}, kMapRead | kMapWrite, 0, ""}};
    std::vector<EntryMemory> memories = EntryMemory::Of({{Filled(0x10000, {1, 2})},
                                                         {Filled(0x11000, {3}), Filled(0x30000, {4})},
                                                         {Filled(0x10000, {5}), Filled(0x12000, {6})}});
    states_.resize(3);
    for (size_t i = 0; i < 3; ++i) states_[i].number = i + 1;
    for (size_t i = 0; i < 3; ++i) states_[i].memory = std::move(memories[i]);
    states_[1].mappings = {{{0x30000}, {0x31000}, kMapRead | kMapWrite, 0, ""}};
  }

  Report report_;
  std::vector<EntryState> states_;
};

TEST_F(SuccessiveStates, HaveThePagesOfLaterOnes) {
  EXPECT_THAT(FirstBytes(PagesOf(report_, states_[2])), ElementsAre(Pair(0x10000, 5), Pair(0x12000, 6)));
  EXPECT_THAT(FirstBytes(PagesOf(report_, states_[1])),
              ElementsAre(Pair(0x10000, 5), Pair(0x11000, 3), Pair(0x12000, 6), Pair(0x30000, 4)));
}

// The block at 0x30000 was mapped after the first entry and is gone at the crash.
TEST_F(SuccessiveStates, HaveNoPagesOfWhatIsMappedLater) {
  EXPECT_THAT(FirstBytes(PagesOf(report_, states_[0])),
              ElementsAre(Pair(0x10000, 1), Pair(0x11000, 2), Pair(0x12000, 6)));
}

// A page that many frames share is kept once.
TEST_F(SuccessiveStates, ShareTheirBytes) {
  const Pages first = PagesOf(report_, states_[0]);
  const Pages last = PagesOf(report_, states_[2]);
  EXPECT_EQ(first.at(0x12000), last.at(0x12000));
  const EntryState copy = states_[0];
  EXPECT_EQ(PagesOf(report_, copy).at(0x10000), first.at(0x10000));
}

// The file has one layer of each: of states that do not share them it would give other memory back.
TEST_F(SuccessiveStates, AreWrittenOnlyIfTheyShareTheirPages) {
  const TemporaryDirectory directory;
  report_.snapshots.emplace().states = states_;
  ASSERT_TRUE(WriteReport(report_, directory / "a.rcr"));
  report_.snapshots->states[1].memory = EntryMemory({Filled(0x11000, {3})});
  const Status status = WriteReport(report_, directory / "b.rcr");
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("recorded entry states do not share their pages"));
}

TEST(Spans, AreAsLongAsTheBytesLieSideBySide) {
  const std::vector<Region> regions = {Filled(0x10000, {1, 2, 3}), Filled(0x20000, {4})};
  const std::vector<Region> over = {Filled(0x11000, {9})};
  Pages pages;
  LayPages(regions, &pages);
  EXPECT_EQ(SpansOf(pages).size(), 2u);
  EXPECT_EQ(SpansOf(pages)[0].bytes.size(), 3 * kPage);
  LayPages(over, &pages);
  ASSERT_EQ(SpansOf(pages).size(), 4u);
  EXPECT_EQ(SpansOf(pages)[1].bytes.data(), over[0].bytes.data());
  EXPECT_EQ(SpansOf(pages)[1].bytes.size(), kPage);
}

}  // namespace
}  // namespace recrash
