#include "testgen/rerun/stopped_state.h"

#include <gmock/gmock.h>

namespace recrash {
namespace {

using ::testing::ElementsAre;

constexpr uint64_t kPage = 4096;

std::vector<uint8_t> Pages(std::initializer_list<uint8_t> fills) {
  std::vector<uint8_t> bytes;
  for (const uint8_t fill : fills) bytes.insert(bytes.end(), kPage, fill);
  return bytes;
}

Mapping Writable(uint64_t start, uint64_t end, const std::string& path = "") {
  return {{start}, {end}, kMapRead | kMapWrite, 0, path};
}

MATCHER_P2(RegionIs, address, bytes, "") {
  return arg.address.value == static_cast<uint64_t>(address) && arg.bytes == bytes;
}

TEST(EntryState, HoldsThePagesThatDiffer) {
  Report report;
  report.mappings = {Writable(0x10000, 0x14000)};
  report.memory = {{{0x10000}, Pages({1, 2, 3})}};
  EntryState then;
  then.frame = 4;
  then.mappings = report.mappings;
  then.memory = EntryMemory({{{0x10000}, Pages({1, 9, 3})}});
  const EntryState state = DifferenceTo(report, then);
  EXPECT_EQ(state.frame, 4u);
  EXPECT_THAT(state.memory.own(), ElementsAre(RegionIs(0x11000, Pages({9}))));
}

// A static array that was filled between entry and crash was zero pages that nobody had touched.
TEST(EntryState, HasZeroesWhereNothingHadBeenTouched) {
  Report report;
  report.mappings = {Writable(0x10000, 0x14000)};
  report.memory = {{{0x10000}, Pages({1, 2})}};
  EntryState then;
  then.mappings = report.mappings;
  then.memory = EntryMemory({{{0x10000}, Pages({1})}});
  EXPECT_THAT(DifferenceTo(report, then).memory.own(), ElementsAre(RegionIs(0x11000, Pages({0}))));
}

TEST(EntryState, NamesTheModulesThatWereLoadedLater) {
  Report report;
  report.modules.resize(2);
  report.modules[0].base = {0x10000};
  report.modules[0].path = "/program";
  report.modules[1].base = {0x20000};
  report.modules[1].path = "/plugin";
  EntryState then;
  // Something else lies where the plugin comes to lie.
  then.mappings = {Writable(0x10000, 0x11000, "/program"), Writable(0x20000, 0x21000)};
  EXPECT_THAT(DifferenceTo(report, then).not_loaded, ElementsAre(TargetAddress{0x20000}));
}

// Memory that was mapped only after the entry is none of its business.
TEST(EntryState, LeavesOutWhatWasMappedLater) {
  Report report;
  report.mappings = {Writable(0x10000, 0x11000), Writable(0x20000, 0x21000)};
  report.memory = {{{0x10000}, Pages({1})}, {{0x20000}, Pages({7})}};
  EntryState then;
  then.mappings = {report.mappings[0]};
  then.memory = EntryMemory({{{0x10000}, Pages({1})}});
  EXPECT_TRUE(DifferenceTo(report, then).memory.own().empty());
}

// A large block that was freed before the crash: unmapped in the report, in part under another mapping.
TEST(EntryState, NamesWhatIsNotMappedAnyMore) {
  Report report;
  report.mappings = {Writable(0x12000, 0x13000)};
  EntryState then;
  then.mappings = {Writable(0x10000, 0x14000)};
  then.memory = EntryMemory({{{0x10000}, Pages({1, 1, 1, 1})}});
  const EntryState state = DifferenceTo(report, then);
  ASSERT_EQ(state.mappings.size(), 2u);
  EXPECT_EQ(state.mappings[0].start.value, 0x10000u);
  EXPECT_EQ(state.mappings[0].end.value, 0x12000u);
  EXPECT_EQ(state.mappings[1].start.value, 0x13000u);
  EXPECT_EQ(state.mappings[1].end.value, 0x14000u);
}

TEST(EntryState, KnowsTheBreak) {
  Report report;
  report.process.brk_start = {0x30000};
  EntryState then;
  EXPECT_EQ(DifferenceTo(report, then).brk_end.value, 0x30000u);
  then.mappings = {Writable(0x30000, 0x51000, "[heap]")};
  EXPECT_EQ(DifferenceTo(report, then).brk_end.value, 0x51000u);
}

}  // namespace
}  // namespace recrash
