#include "testgen/replay/heap/heap_chain.h"

#include <gtest/gtest.h>

#include <map>

namespace recrash::replay {
namespace {

constexpr uint64_t kStart = 0x1000;
constexpr uint64_t kEnd = 0x2000;

std::map<uint64_t, uint64_t> g_words;

bool Read(uint64_t address, uint64_t* word) {
  const auto found = g_words.find(address);
  if (found == g_words.end()) return false;
  *word = found->second;
  return true;
}

// Chunks of 0x100, 0x20 and 0x40 bytes, behind them what malloc has not given out.
class Heap : public ::testing::Test {
 protected:
  Heap() {
    g_words.clear();
    PutSize(0x1000, 0x101);
    PutSize(0x1100, 0x21);
    PutSize(0x1120, 0x41);
    PutSize(0x1160, kEnd - 0x1160 + 1);
  }
  static void PutSize(uint64_t chunk, uint64_t size) { g_words[chunk + 8] = size; }
  static HeapChain Follow() { return FollowHeap(kStart, kEnd, Read); }
  static uint64_t Overrun(const HeapChain& chain, uint64_t end = kEnd) { return FindOverrun(chain, end, Read); }
};

TEST_F(Heap, IsWholeAsItWas) {
  const HeapChain chain = Follow();
  EXPECT_EQ(chain.start, 0x1000u);
  EXPECT_EQ(chain.last, 0x1160u);
  EXPECT_EQ(Overrun(chain), 0u);
  EXPECT_EQ(Overrun(chain, kStart), 0u);  // the break of another process says nothing
}

TEST_F(Heap, IsWholeAfterBlocksWereTakenAndGivenBack) {
  const HeapChain chain = Follow();
  PutSize(0x1160, 0x31);  // split off the last one
  PutSize(0x1190, kEnd - 0x1190 + 1);
  EXPECT_EQ(Overrun(chain), 0u);
  PutSize(0x1100, 0x60);  // joined
  EXPECT_EQ(Overrun(chain), 0u);
  PutSize(0x1100, kEnd - 0x1100 + 1);  // joined to the last one
  EXPECT_EQ(Overrun(chain), 0u);
  PutSize(0x1100, kEnd + 0x1000 - 0x1100 + 1);  // which has grown
  EXPECT_EQ(Overrun(chain, kEnd + 0x1000), 0u);
}

TEST_F(Heap, IsBrokenBehindTheBlockThatWasOverrun) {
  const HeapChain chain = Follow();
  for (const uint64_t word : {uint64_t{0}, uint64_t{7}, uint64_t{0x55550000}, ~uint64_t{0}, uint64_t{0x44}}) {
    PutSize(0x1120, word);
    EXPECT_EQ(Overrun(chain), 0x1110u) << word;
  }
  PutSize(0x1120, 0x41);
  PutSize(0x1160, 0);  // of what malloc has not given out
  EXPECT_EQ(Overrun(chain), 0x1130u);
  PutSize(0x1100, 0x31);  // the heads behind are no longer met
  EXPECT_NE(Overrun(chain), 0u);
}

TEST_F(Heap, OfWhichNothingIsKnownIsNotBroken) {
  g_words.erase(0x1008);
  EXPECT_EQ(Overrun(Follow()), 0u);
  EXPECT_EQ(Overrun(FollowHeap(0, 0, Read)), 0u);
  EXPECT_EQ(Overrun(HeapChain{}), 0u);
}

// It was broken before the call: what lies behind the place does not count.
TEST_F(Heap, CountsWhatTheCallBrokeAlone) {
  PutSize(0x1120, 7);
  const HeapChain chain = Follow();
  EXPECT_EQ(chain.last, 0x1100u);
  PutSize(0x1120, 9);
  EXPECT_EQ(Overrun(chain), 0u);
  PutSize(0x1100, 9);
  EXPECT_EQ(Overrun(chain), 0x1010u);
}

}  // namespace
}  // namespace recrash::replay
