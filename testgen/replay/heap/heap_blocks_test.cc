// Heaps that are only described.
#include "testgen/replay/heap/heap_blocks.h"

#include <gtest/gtest.h>

#include <map>

namespace recrash::replay {
namespace {

constexpr uint64_t kStart = 0x10000;
constexpr uint64_t kCache = kStart + 0x10;
constexpr uint64_t kEnd = 0x11000;
constexpr uint64_t kFirst = kStart + 0x290 + 0x10;
constexpr uint64_t kArena = 0x500000;

std::map<uint64_t, uint64_t> g_words;

bool Read(uint64_t address, uint64_t* word) {
  if (address >= kEnd && address < kArena) return false;
  *word = g_words[address];
  return true;
}

// A cache, and blocks of 0x28 bytes at kFirst, kFirst + 0x30, kFirst + 0x60 and kFirst + 0x90.
class Blocks : public ::testing::Test {
 protected:
  Blocks() {
    g_words.clear();
    PutSize(kStart, 0x291);
    for (uint64_t i = 0; i < 4; ++i) PutSize(Block(i) - 0x10, 0x31);
    PutSize(Block(4) - 0x10, kEnd - (Block(4) - 0x10) + 1);
  }
  static uint64_t Block(uint64_t i) { return kFirst + i * 0x30; }
  static void PutSize(uint64_t chunk, uint64_t size) { g_words[chunk + 8] = size; }
  static void Cache(uint64_t block, uint64_t next) {
    g_words[block] = next ^ (block >> 12);
    g_words[block + 8] = 0x5eed5eed5eed5eed;
  }
  bool Run(uint64_t end = kEnd) { return ReadHeapBlocks(kStart, end, kArena, Read, &blocks_); }
  BlockState StateOf(uint64_t address) { return BlockAt(blocks_, address)->state; }

  HeapBlock storage_[16];
  HeapBlocks blocks_{storage_, 0, 16};
};

TEST_F(Blocks, AreLiveAndTheRestIsUnused) {
  ASSERT_TRUE(Run());
  EXPECT_EQ(blocks_.count, 6u);
  EXPECT_EQ(BlockAt(blocks_, Block(1) + 0x27)->start, Block(1));
  EXPECT_EQ(BlockAt(blocks_, Block(1))->size, 0x28u);
  EXPECT_EQ(StateOf(Block(1)), BlockState::kLive);
  EXPECT_EQ(StateOf(Block(4) + 0x100), BlockState::kUnused);
  EXPECT_EQ(BlockAt(blocks_, kStart), nullptr);
}

TEST_F(Blocks, AreFreedIfTheNextChunkSaysSo) {
  PutSize(Block(2) - 0x10, 0x30);
  ASSERT_TRUE(Run());
  EXPECT_EQ(StateOf(Block(1)), BlockState::kFreed);
  EXPECT_EQ(StateOf(Block(0)), BlockState::kLive);
}

TEST_F(Blocks, AreFreedInACache) {
  g_words[kCache + 128 + 8] = Block(2);
  Cache(Block(2), Block(0));
  Cache(Block(0), 0);
  Cache(Block(3), 0);  // what a thread that has ended leaves in a block, which may have been given out again
  ASSERT_TRUE(Run());
  EXPECT_EQ(StateOf(Block(0)), BlockState::kFreed);
  EXPECT_EQ(StateOf(Block(1)), BlockState::kLive);
  EXPECT_EQ(StateOf(Block(2)), BlockState::kFreed);
  EXPECT_EQ(StateOf(Block(3)), BlockState::kLive);
}

TEST_F(Blocks, AreFreedInAFastList) {
  g_words[kArena + 0x10 + 8] = Block(3) - 0x10;
  g_words[Block(3)] = (Block(1) - 0x10) ^ (Block(3) >> 12);
  g_words[Block(1)] = Block(1) >> 12;
  ASSERT_TRUE(Run());
  EXPECT_EQ(StateOf(Block(1)), BlockState::kFreed);
  EXPECT_EQ(StateOf(Block(2)), BlockState::kLive);
  EXPECT_EQ(StateOf(Block(3)), BlockState::kFreed);
}

TEST_F(Blocks, AreNotKnownInAHeapThatIsBroken) {
  EXPECT_FALSE(Run(kEnd + 0x1000)) << "it is not the end";
  PutSize(Block(2) - 0x10, 0x4141414141414141);
  EXPECT_FALSE(Run());
  EXPECT_EQ(blocks_.count, 0u);
  EXPECT_EQ(BlockAt(blocks_, Block(0)), nullptr);
}

}  // namespace
}  // namespace recrash::replay
