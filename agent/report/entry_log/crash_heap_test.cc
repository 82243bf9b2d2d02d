// The heap of this test's invention, with blocks in use, cached and free.
#include "agent/report/entry_log/crash_heap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>

namespace recrash {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr uint64_t kHeap = 0x1000000;

class Heap : public PageSource {
 public:
  Heap() : bytes_(kPageSize) {
    AddChunk(0x290);                                       // the cache
    for (uint64_t& block : blocks_) block = AddChunk(32);  // bin 0
    large_ = AddChunk(128);
    AddChunk(32);
    AddChunk(kPageSize - used_);  // what is left
    for (const uint64_t block : blocks_) Cache(block);
  }

  size_t Read(TargetAddress address, std::span<uint8_t> out) const override {
    std::memcpy(out.data(), bytes_.data() + (address.value - kHeap), out.size());
    return out.size();
  }
  std::optional<std::vector<PageRun>> Present(const Mapping&) const override { return std::nullopt; }

  uint64_t block(size_t number) const { return blocks_[number]; }
  uint64_t large() const { return large_; }
  uint64_t Word(uint64_t address) const {
    uint64_t word = 0;
    std::memcpy(&word, bytes_.data() + (address - kHeap), sizeof word);
    return word;
  }
  void Set(uint64_t address, uint64_t word) { std::memcpy(bytes_.data() + (address - kHeap), &word, sizeof word); }
  void Free(uint64_t block, uint64_t size) {
    Set(block, 0x7000);  // links
    Set(block + 8, 0x7010);
    Set(block + size - 16, size);
    Set(block + size - 8, Word(block + size - 8) & ~uint64_t{1});
  }

  // Lays copies full of ones, and mends.
  void Lay(const std::vector<record::LogCopy>& copies) {
    Report report;
    report.process.brk_start = {kHeap};
    report.process.brk_end = {kHeap + kPageSize};
    const CrashHeap heap(*this, report);
    for (const record::LogCopy& copy : copies) std::memset(bytes_.data() + (copy.address - kHeap), 1, copy.size);
    heap.Mend(copies, [&](uint64_t address, std::span<const uint8_t> bytes) {
      std::memcpy(bytes_.data() + (address - kHeap), bytes.data(), bytes.size());
    });
  }

  // As malloc would hand them out.
  std::vector<uint64_t> Cached() const {
    std::vector<uint64_t> blocks;
    for (uint64_t block = Word(kEntries); block != 0 && blocks.size() < 9; block = Word(block) ^ block >> 12)
      blocks.push_back(block);
    EXPECT_EQ(Word(kHeap + 16) & 0xffff, blocks.size());
    return blocks;
  }

 private:
  static constexpr uint64_t kEntries = kHeap + 16 + 128;

  uint64_t AddChunk(uint64_t size) {
    Set(kHeap + used_ + 8, size | 1);
    used_ += size;
    return kHeap + used_ - size + 16;
  }
  void Cache(uint64_t block) {
    Set(block, Word(kEntries) ^ block >> 12);
    Set(kEntries, block);
    Set(kHeap + 16, Word(kHeap + 16) + 1);
  }

  std::vector<uint8_t> bytes_;
  uint64_t used_ = 0;
  uint64_t blocks_[3];
  uint64_t large_ = 0;
};

constexpr uint64_t kOnes = 0x0101010101010101;

// Handed out again it would be two things at once, and its link would lead nowhere.
TEST(CrashHeap, TakesBlocksWithContentOutOfTheCache) {
  Heap heap;
  EXPECT_THAT(heap.Cached(), ElementsAre(heap.block(2), heap.block(1), heap.block(0)));
  heap.Lay({{heap.block(1), 24}});
  EXPECT_THAT(heap.Cached(), ElementsAre(heap.block(2), heap.block(0)));
  EXPECT_EQ(heap.Word(heap.block(1)), kOnes);
  heap.Lay({{heap.block(2), 8}, {heap.block(0) + 16, 8}});
  EXPECT_THAT(heap.Cached(), IsEmpty());
}

TEST(CrashHeap, KeepsTheHeadsOfChunks) {
  Heap heap;
  const uint64_t before = heap.Word(heap.large() - 8);
  heap.Lay({{heap.block(2) + 16, 64}});
  EXPECT_EQ(heap.Word(heap.large() - 8), before);
  EXPECT_EQ(heap.Word(heap.large()), kOnes);
}

TEST(CrashHeap, KeepsTheLinksOfWhatIsFree) {
  Heap heap;
  heap.Free(heap.large(), 128);
  heap.Lay({{heap.large(), 128}});
  EXPECT_EQ(heap.Word(heap.large()), 0x7000u);
  EXPECT_EQ(heap.Word(heap.large() + 8), 0x7010u);
  EXPECT_EQ(heap.Word(heap.large() + 40), kOnes);
  EXPECT_EQ(heap.Word(heap.large() + 112), 128u) << "its size, for the one before which it lies";
  EXPECT_EQ(heap.Word(heap.large() + 120), 32u);
}

TEST(CrashHeap, KeepsTheCache) {
  Heap heap;
  heap.Lay({{kHeap + 16, 256}});
  EXPECT_THAT(heap.Cached(), ElementsAre(heap.block(2), heap.block(1), heap.block(0)));
}

TEST(CrashHeap, EndsWhereItIsDamaged) {
  for (const uint64_t size : {uint64_t{0}, uint64_t{7}, uint64_t{kPageSize} * 2, ~uint64_t{0}}) {
    Heap heap;
    heap.Set(heap.block(1) - 8, size);
    heap.Lay({{heap.large() - 16, 64}});
    EXPECT_EQ(heap.Word(heap.large() - 8), kOnes) << "nobody knows that this is a head";
  }
  Heap heap;
  heap.Set(heap.block(2), 0x1234567890);  // a link to nowhere
  heap.Lay({{heap.block(2), 24}});
  EXPECT_THAT(heap.Cached(), IsEmpty());
}

}  // namespace
}  // namespace recrash
