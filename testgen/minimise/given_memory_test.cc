// The parts of an invented process's memory.
#include "testgen/minimise/given_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "testgen/carry/testing_heap.h"
#include "testgen/replay/plan/fill.h"

namespace recrash {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr uint64_t kModule = 0x400000;
constexpr uint64_t kEntrySp = TestingHeap::kStack + 0x7f8;

class Given : public testing::Test {
 protected:
  // Pages of the heap and of the stack that the replay touches.
  GivenMemory Find(const std::vector<uint64_t>& touched) {
    report_.process.brk_start = {TestingHeap::kStart};
    report_.process.brk_end = {heap_.end()};
    report_.modules = {{"/app", "", {kModule}, 0x2000, 0, true}};
    report_.mappings = {{{kModule}, {kModule + 0x1000}, kMapRead, 0, "/app"},
                        {{kModule + 0x1000}, {kModule + 0x2000}, kMapRead | kMapWrite, 0, "/app"},
                        {{TestingHeap::kStart}, {heap_.end()}, kMapRead | kMapWrite, 0, "[heap]"},
                        {{TestingHeap::kStack}, {TestingHeap::kStack + 0x1000}, kMapRead | kMapWrite, 0, "[stack]"}};
    report_.memory = {{{TestingHeap::kStart}, std::vector<uint8_t>(TestingHeap::kSize)},
                      {{TestingHeap::kStack}, std::vector<uint8_t>(TestingHeap::kStackSize)}};
    for (Region& region : report_.memory) heap_.Read(region.address.value, region.bytes);
    report_.replay.images.resize(1);
    report_.replay.images[0].base = {kModule};
    report_.replay.images[0].symbols = {{0x100, 8, false, "constant"},
                                        {0x1010, 16, false, "_ZN2ns5tableE"},
                                        {0x1040, 64, true, "function"},
                                        {0x1080, 64, false, "__recrash_own"}};
    frame_.entry_sp = {kEntrySp};
    report_.replay.frames = {frame_};
    const StartMemory memory(report_, report_.replay.frames[0]);
    std::vector<TargetAddress> pages;
    for (const uint64_t page : touched) pages.push_back({page});
    return FindGivenMemory(report_, report_.replay.frames[0], memory, pages);
  }
  std::vector<Part> Parts(const std::vector<uint64_t>& touched, PartKind kind) {
    std::vector<Part> parts = Find(touched).parts;
    std::erase_if(parts, [&](const Part& part) { return part.kind != kind; });
    return parts;
  }

  TestingHeap heap_;
  TestReport report_;
  ReplayFrame frame_;
};

TEST_F(Given, BlocksAreThoseOnTouchedPages) {
  const uint64_t near = heap_.Allocate(40);
  heap_.Allocate(0x3000);
  const uint64_t far = heap_.Allocate(24);
  const std::vector<Part> parts = Parts({far / 4096 * 4096}, PartKind::kBlock);
  EXPECT_TRUE(
      std::ranges::any_of(parts, [&](const Part& part) { return part.start == far && part.bytes.size() == 24; }));
  EXPECT_TRUE(std::ranges::none_of(parts, [&](const Part& part) { return part.start == near; }));
}

// What malloc needs of it: the links, and the size at its end.
TEST_F(Given, FreedBlocksKeepTheirLinks) {
  const uint64_t block = heap_.Allocate(56);
  heap_.Allocate(56);
  heap_.Free(block);
  const std::vector<Part> parts = Parts({TestingHeap::kStart}, PartKind::kFreedBlock);
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_THAT(parts[0].bytes.ranges(), ElementsAre(ByteRange{block + 16, block + 48}));
}

TEST_F(Given, MallocsOwnIsNoPart) {
  const uint64_t block = heap_.Allocate(40);
  for (const Part& part : Find({TestingHeap::kStart}).parts) {
    for (const ByteRange& range : part.bytes.ranges()) {
      if (part.kind == PartKind::kBlock || part.kind == PartKind::kUnusedHeap) EXPECT_GE(range.start, block);
      EXPECT_FALSE(range.start < block && range.end > block - 16) << "the head of the block";
    }
  }
}

TEST_F(Given, TheStackIsThatOfTheCallersAndWhatIsLeftBelow) {
  const std::vector<Part> callers = Parts({TestingHeap::kStack}, PartKind::kCallersStack);
  const std::vector<Part> below = Parts({TestingHeap::kStack}, PartKind::kBelowStack);
  ASSERT_FALSE(callers.empty() || below.empty());
  EXPECT_EQ(callers.front().start, kEntrySp + 8);
  EXPECT_EQ(callers.back().start + callers.back().size, TestingHeap::kStack + 0x1000);
  EXPECT_EQ(below.back().start + below.back().size, kEntrySp);
}

TEST_F(Given, GlobalsAreTheProgramsThatItCanWrite) {
  const std::vector<Part> parts = Parts({}, PartKind::kGlobal);
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].name, "ns::table");
  EXPECT_THAT(parts[0].bytes.ranges(), ElementsAre(ByteRange{kModule + 0x1010, kModule + 0x1020}));
}

TEST_F(Given, RegistersAreThoseOfArguments) {
  frame_.words.resize(2);
  frame_.words[0].location = abi::Location::kRsi;
  frame_.words[0].size = 4;
  frame_.words[1].location = abi::Location::kStack;
  frame_.words[1].size = 8;
  const std::vector<Part> parts = Parts({}, PartKind::kRegister);
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].name, "rsi");
  EXPECT_EQ(parts[0].bytes.size(), 4u);
}

// Sizes and addresses of a report are anyone's.
TEST_F(Given, HostileSizesMakeNoParts) {
  report_.threads.resize(1);
  report_.threads[0].failing = true;
  report_.threads[0].registers.fs_base = UINT64_MAX;
  heap_.Put(TestingHeap::kStart + 8, uint64_t{0xffffffffffffff01});
  EXPECT_THAT(Parts({TestingHeap::kStart}, PartKind::kBlock), IsEmpty());
}

}  // namespace
}  // namespace recrash
