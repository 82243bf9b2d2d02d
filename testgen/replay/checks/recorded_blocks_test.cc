#include "testgen/replay/checks/recorded_blocks.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace recrash::replay {
namespace {

constexpr uint64_t kKey = 0x1234567890abcdef;
constexpr uint64_t kUnreadable = 0x10000;

bool Read(uint64_t address, uint64_t* word) {
  if (address < kUnreadable) return false;
  std::memcpy(word, reinterpret_cast<const void*>(address), sizeof *word);
  return true;
}

// A heap of glibc's in this process's memory, with a shadow of its own. Its blocks: the thread's cache, then blocks of
// 24, 40, 24 and 56 bytes, then what is not given out.
class AnnouncedHeap : public testing::Test {
 protected:
  AnnouncedHeap() {
    memory_.resize(0x2000 + 16);
    state_.resize(0x900);
    start_ = (Number(memory_.data()) + 15) / 16 * 16;
    end_ = start_ + 0x2000;
    shadow_.resize(0x2000 / 8 + 2);
    blocks_.shadowed = true;
    blocks_.shadow_offset = Number(shadow_.data()) - start_ / 8;
    uint64_t chunk = start_;
    for (const uint64_t size : {0x290, 0x20, 0x30, 0x20, 0x40}) {
      Word(chunk + 8) = size | 1;
      block_.push_back(chunk + 16);
      chunk += size;
    }
    top_ = chunk;
    Word(top_ + 8) = (end_ - top_) | 1;
    Word(Number(state_.data()) + 0x60) = top_;
    SetArena(&blocks_, start_, end_, Number(state_.data()));
  }

  static uint64_t Number(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }
  static uint64_t& Word(uint64_t address) { return *reinterpret_cast<uint64_t*>(address); }
  uint8_t MarkAt(uint64_t address) const { return shadow_[address / 8 - start_ / 8]; }

  // As free does, into the first list of the cache.
  void Cache(uint64_t block) {
    uint64_t& first = Word(block_[0] + 128);
    Word(block) = first ^ (block >> 12);
    Word(block + 8) = kKey;
    first = block;
  }
  void PutIntoFastBin(uint64_t block) {
    uint64_t& first = Word(Number(state_.data()) + 0x10);
    Word(block) = first ^ (block >> 12);
    first = block - 16;
  }
  void Announce(bool exact = true) { AnnounceBlocks(&blocks_, exact, Read); }

  RecordedBlocks blocks_{};
  std::vector<uint8_t> memory_, shadow_, state_;
  std::vector<uint64_t> block_;
  uint64_t start_ = 0, end_ = 0, top_ = 0;
};

TEST_F(AnnouncedHeap, HasMarksBetweenItsBlocks) {
  Announce();
  for (const uint64_t block : block_) {
    EXPECT_EQ(MarkAt(block - 8), kBesideBlock);
    for (uint64_t at = block; at < block + SizeOfBlock(block, Read); at += 8) EXPECT_EQ(MarkAt(at), 0) << at - start_;
  }
  EXPECT_EQ(MarkAt(top_), 0) << "the end of the last block";
  for (uint64_t at = top_ + 8; at < end_; at += 8) EXPECT_EQ(MarkAt(at), kBesideBlock);
}

TEST_F(AnnouncedHeap, KnowsFreeBlocksOfEachKind) {
  Cache(block_[1]);
  Cache(block_[2]);  // of another thread's cache it is told by the same key
  PutIntoFastBin(block_[3]);
  Word(top_ + 8) &= ~uint64_t{1};  // the block before is free
  Announce();
  for (size_t i = 1; i < block_.size(); ++i) {
    EXPECT_EQ(MarkAt(block_[i]), kFreedBlock) << i;
    EXPECT_EQ(MarkAt(block_[i] + SizeOfBlock(block_[i], Read) - 8), kFreedBlock) << i;
    EXPECT_EQ(MarkAt(block_[i] - 8), kBesideBlock) << i;
  }
  EXPECT_EQ(MarkAt(block_[0]), 0);
}

TEST_F(AnnouncedHeap, OfTheCrashHasMarksOfItsOwn) {
  Cache(block_[1]);
  Announce(false);
  EXPECT_EQ(MarkAt(block_[1]), kBadAtCrash);
  EXPECT_EQ(MarkAt(block_[2] - 8), kBadAtCrash);
  EXPECT_EQ(FreeBlock(blocks_, block_[1], Read), Freed::kTwiceAtCrash);
  EXPECT_EQ(FreeBlock(blocks_, block_[2], Read), Freed::kDone);
  EXPECT_EQ(MarkAt(block_[2]), kFreedBlock);
  EXPECT_EQ(FreeBlock(blocks_, block_[2], Read), Freed::kTwice);
}

TEST_F(AnnouncedHeap, FreesABlockOnce) {
  Announce();
  EXPECT_EQ(FreeBlock(blocks_, block_[2], Read), Freed::kDone);
  EXPECT_EQ(MarkAt(block_[2]), kFreedBlock);
  EXPECT_EQ(FreeBlock(blocks_, block_[2], Read), Freed::kTwice);
  EXPECT_EQ(FreeBlock(blocks_, block_[1] + 8, Read), Freed::kNoBlock);
  EXPECT_EQ(FreeBlock(blocks_, block_[4] + 16, Read), Freed::kNoBlock);
  EXPECT_EQ(FreeBlock(blocks_, top_ + 16, Read), Freed::kNoBlock) << "not given out";
}

// Behind the damage nothing is known: nothing is marked, and what is freed there is freed.
TEST_F(AnnouncedHeap, IsKnownUpToItsDamage) {
  Word(block_[2] - 8) = 0x4141414141414141;
  Announce();
  EXPECT_EQ(MarkAt(block_[1] - 8), kBesideBlock);
  EXPECT_EQ(MarkAt(block_[3] - 8), 0);
  EXPECT_EQ(MarkAt(top_ + 16), 0);
  EXPECT_EQ(FreeBlock(blocks_, block_[3], Read), Freed::kDone);
}

TEST_F(AnnouncedHeap, OfAnotherAllocatorIsLeftAlone) {
  Word(Number(state_.data()) + 0x60) = end_ + 64;
  Announce();
  for (const uint8_t mark : shadow_) EXPECT_EQ(mark, 0);
}

TEST_F(AnnouncedHeap, LosesItsMarks) {
  Announce();
  ClearMarks(blocks_, start_, end_);
  for (const uint8_t mark : shadow_) EXPECT_EQ(mark, 0);
}

}  // namespace
}  // namespace recrash::replay
