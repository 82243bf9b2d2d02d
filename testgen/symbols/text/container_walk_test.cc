// Walks over invented memory.
#include "testgen/symbols/text/container_walk.h"

#include <gtest/gtest.h>

#include <cstring>

namespace recrash {
namespace {

class Walks : public ::testing::Test {
 protected:
  void Put(uint64_t address, std::vector<uint64_t> words) {
    Region region{{address}, std::vector<uint8_t>(words.size() * 8)};
    std::memcpy(region.bytes.data(), words.data(), region.bytes.size());
    report_.memory.push_back(region);
  }
  Report report_;
  ReportMemory memory_{report_, nullptr};
};

TEST_F(Walks, AChainToItsEnd) {
  Put(0x100, {0x200, 1});
  Put(0x200, {0x1000, 2});
  const Walk walk = WalkChain(memory_, {{0x100}, {0x1000}, 0, 2});
  EXPECT_EQ(walk.nodes, (std::vector<TargetAddress>{{0x100}, {0x200}}));
  EXPECT_EQ(walk.remark, "");
  EXPECT_FALSE(walk.is_cut);
}

// The size of a list that was never made, or that was overwritten.
TEST_F(Walks, AChainThatItsSizeContradicts) {
  Put(0x100, {0x200, 1});
  Put(0x200, {0, 2});
  EXPECT_EQ(WalkChain(memory_, {{0x100}, {0x1000}, 0, uint64_t{1} << 60}).remark, "2 found");
  EXPECT_EQ(WalkChain(memory_, {{0x100}, {0x1000}, 0, 0}).remark, "2 found");
}

TEST_F(Walks, AChainWithALoop) {
  Put(0x100, {0x200, 1});
  Put(0x200, {0x100, 2});
  const Walk walk = WalkChain(memory_, {{0x100}, {0x1000}, 0, 20});
  EXPECT_EQ(walk.nodes.size(), 2u);
  EXPECT_EQ(walk.remark, "a loop");
}

TEST_F(Walks, AChainIntoNothing) {
  Put(0x100, {0x5000, 1});
  EXPECT_EQ(WalkChain(memory_, {{0x100}, {}, 0, std::nullopt}).remark, "no node at 0x5000");
}

TEST_F(Walks, ATreeInOrder) {
  Put(0x100, {0x200, 0x300});
  Put(0x200, {0, 0x400});
  Put(0x300, {0, 0});
  Put(0x400, {0, 0});
  const Walk walk = WalkTree(memory_, {{0x100}, 0, 8, 4});
  EXPECT_EQ(walk.nodes, (std::vector<TargetAddress>{{0x200}, {0x400}, {0x100}, {0x300}}));
  EXPECT_EQ(walk.remark, "");
}

TEST_F(Walks, ATreeThatIsNone) {
  Put(0x100, {0x100, 0});
  EXPECT_EQ(WalkTree(memory_, {{0x100}, 0, 8, 4}).remark, "a loop");
  EXPECT_EQ(WalkTree(memory_, {{0x900}, 0, 8, 4}).remark, "no node at 0x900");
  EXPECT_EQ(WalkTree(memory_, {{0}, 0, 8, 4}).remark, "0 found");
}

TEST_F(Walks, BlocksFromTheMiddleOfOne) {
  Put(0x100, {0x1000, 0x2000});
  const Walk walk = WalkBlocks(memory_, {{0x100}, 4, 16, 3, 3});
  EXPECT_EQ(walk.nodes, (std::vector<TargetAddress>{{0x1030}, {0x2000}, {0x2010}}));
  EXPECT_EQ(WalkBlocks(memory_, {{0x100}, 4, 16, 6, 4}).remark, "no block at 0x110");
}

}  // namespace
}  // namespace recrash
