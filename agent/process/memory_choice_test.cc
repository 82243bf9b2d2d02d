// Which pages are kept, on invented memory.
#include "agent/process/memory_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>

namespace recrash {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Pages that are present, by address; each holds zeros but for the words that a test puts there.
class InventedMemory final : public PageSource {
 public:
  void Page(uint64_t address) { pages_[address]; }
  void Word(uint64_t address, uint64_t value) {
    std::vector<uint8_t>& page = PageAt(address);
    std::memcpy(page.data() + address % kPageSize, &value, sizeof value);
  }
  void Unreadable(uint64_t address) { PageAt(address).clear(); }

  size_t Read(TargetAddress address, std::span<uint8_t> out) const override {
    size_t done = 0;
    while (done < out.size()) {
      auto page = pages_.find(address.value + done);
      if (page == pages_.end() || page->second.empty()) break;
      std::memcpy(out.data() + done, page->second.data(), kPageSize);
      done += kPageSize;
    }
    return done;
  }
  std::optional<std::vector<PageRun>> Present(const Mapping& mapping) const override {
    if (mapping.path == "endless") return std::nullopt;
    std::vector<PageRun> runs;
    for (TargetAddress at = mapping.start; at < mapping.end; at = at + kPageSize) {
      if (!pages_.contains(at.value)) continue;
      if (runs.empty() || runs.back().start + runs.back().pages * kPageSize != at) runs.push_back({at, 0});
      ++runs.back().pages;
    }
    return runs;
  }

 private:
  struct Bytes : std::vector<uint8_t> {
    Bytes() : std::vector<uint8_t>(kPageSize) {}
  };
  Bytes& PageAt(uint64_t address) { return pages_[address / kPageSize * kPageSize]; }
  std::map<uint64_t, Bytes> pages_;
};

constexpr uint32_t kPrivate = kMapRead | kMapWrite;

Mapping Heap(uint64_t start, uint64_t pages) { return {{start}, {start + pages * kPageSize}, kPrivate, 0, ""}; }
Mapping Data(uint64_t start, uint64_t pages) {
  return {{start}, {start + pages * kPageSize}, kPrivate, 0, "/lib/a.so"};
}

Module Library(uint64_t base) {
  Module module;
  module.base = {base};
  module.size = 16 * kPageSize;
  return module;
}

Registers At(uint64_t sp) {
  Registers registers;
  registers.dwarf[7] = sp;
  return registers;
}

std::vector<std::pair<uint64_t, size_t>> Runs(const KeptMemory& memory) {
  std::vector<std::pair<uint64_t, size_t>> runs;
  for (const Region& region : memory.regions) runs.push_back({region.address.value, region.bytes.size() / kPageSize});
  return runs;
}

using Kept = std::pair<uint64_t, size_t>;

TEST(MemoryWithinTheLimit, IsKeptWhereItIsPresent) {
  InventedMemory memory;
  for (const uint64_t address : {0x10000, 0x11000, 0x14000}) memory.Page(address);
  const std::vector<Mapping> mappings = {Heap(0x10000, 8)};
  const KeptMemory kept = KeepMemory(memory, mappings, {});
  EXPECT_THAT(Runs(kept), ElementsAre(Kept(0x10000, 2), Kept(0x14000, 1)));
  EXPECT_TRUE(kept.complete);
  EXPECT_THAT(kept.losses, IsEmpty());
}

TEST(MemoryWithinTheLimit, IsOnlyWhatIsPrivateAndWritable) {
  InventedMemory memory;
  for (uint64_t address = 0x10000; address < 0x14000; address += kPageSize) memory.Page(address);
  const std::vector<Mapping> mappings = {{{0x10000}, {0x11000}, kMapRead, 0, ""},
                                         {{0x11000}, {0x12000}, kPrivate | kMapShared, 0, ""},
                                         {{0x12000}, {0x13000}, 0, 0, ""},
                                         Heap(0x13000, 1)};
  EXPECT_THAT(Runs(KeepMemory(memory, mappings, {})), ElementsAre(Kept(0x13000, 1)));
}

// An overflow of a large stack alone reaches the limit; what it points to is what a replay needs as well.
TEST(MemoryBeyondTheLimit, HasRoomBesideAnOverflowedStack) {
  InventedMemory memory;
  for (uint64_t page = 0; page < 8; ++page) memory.Page(0x80000 + page * kPageSize);
  for (const uint64_t address : {0x10000, 0x12000, 0x14000, 0x16000}) memory.Page(address);
  memory.Word(0x80008, 0x12010);
  memory.Word(0x80010, 0x14010);
  memory.Word(0x80018, 0x16010);
  const std::vector<Mapping> mappings = {Heap(0x10000, 8), Heap(0x80000, 8)};
  const KeptMemory kept =
      KeepMemory(memory, mappings, {.limit = 8 * kPageSize, .registers = {At(0x80000)}, .modules = {}});
  EXPECT_THAT(Runs(kept), ElementsAre(Kept(0x12000, 1), Kept(0x14000, 1), Kept(0x80000, 8)));
  EXPECT_FALSE(kept.complete);
}

TEST(UnreadablePages, AreSkippedWithASentence) {
  InventedMemory memory;
  for (const uint64_t address : {0x10000, 0x11000, 0x12000}) memory.Page(address);
  memory.Unreadable(0x11000);
  const std::vector<Mapping> mappings = {Data(0x10000, 3)};
  const KeptMemory kept = KeepMemory(memory, mappings, {.registers = {}, .modules = {Library(0x10000)}});
  EXPECT_THAT(Runs(kept), ElementsAre(Kept(0x10000, 1), Kept(0x12000, 1)));
  EXPECT_THAT(kept.losses, ElementsAre(HasSubstr("/lib/a.so")));
}

// What a sanitizer reserves, on a kernel that cannot list its pages.
TEST(EndlessMappings, AreLeftOutWithASentence) {
  InventedMemory memory;
  memory.Page(0x10000);
  const std::vector<Mapping> mappings = {Heap(0x10000, 1), {{0x100000000}, {0x500000000000}, kPrivate, 0, "endless"}};
  const KeptMemory kept = KeepMemory(memory, mappings, {});
  EXPECT_THAT(Runs(kept), ElementsAre(Kept(0x10000, 1)));
  EXPECT_FALSE(kept.complete);
  EXPECT_THAT(kept.losses, ElementsAre(HasSubstr("left out")));
}

// A private mapping of a data file is memory like any other.
TEST(MappedFiles, AreKeptWhereTheyArePresent) {
  InventedMemory memory;
  memory.Page(0x11000);
  const std::vector<Mapping> mappings = {Data(0x10000, 4)};
  EXPECT_THAT(Runs(KeepMemory(memory, mappings, {})), ElementsAre(Kept(0x11000, 1)));
}

// Stack (0x90000) -> 0x22000 -> 0x25000; the globals (0x50000) -> 0x27000. Nothing leads to the rest of the heap.
class BeyondTheLimit : public testing::Test {
 protected:
  BeyondTheLimit() {
    for (uint64_t page = 0; page < 16; ++page) memory_.Page(0x20000 + page * kPageSize);
    memory_.Page(0x50000);
    memory_.Page(0x90000);
    memory_.Word(0x90010, 0x22008);
    memory_.Word(0x22018, 0x25100);
    memory_.Word(0x50020, 0x2a004);
  }

  KeptMemory Keep(uint64_t pages) {
    return KeepMemory(memory_, mappings_,
                      {.limit = pages * kPageSize, .registers = {At(0x90000)}, .modules = {Library(0x50000)}});
  }

  InventedMemory memory_;
  std::vector<Mapping> mappings_ = {Heap(0x20000, 16), Data(0x50000, 1), Heap(0x90000, 1)};
};

TEST_F(BeyondTheLimit, WhatIsNearestComesFirst) {
  const KeptMemory kept = Keep(4);
  EXPECT_THAT(Runs(kept), ElementsAre(Kept(0x22000, 1), Kept(0x2a000, 1), Kept(0x50000, 1), Kept(0x90000, 1)));
  EXPECT_FALSE(kept.complete);
  EXPECT_THAT(kept.losses, ElementsAre(HasSubstr("RECRASH_OPTIONS=memory=MiB")));
}

// Two steps away: the page that 0x22000 points to, and those behind the first ones, where their objects may go on.
TEST_F(BeyondTheLimit, WhatIsNextFollows) {
  EXPECT_THAT(Runs(Keep(7)),
              ElementsAre(Kept(0x22000, 2), Kept(0x25000, 1), Kept(0x2a000, 2), Kept(0x50000, 1), Kept(0x90000, 1)));
}

TEST_F(BeyondTheLimit, StackAndDataAreKeptWhateverTheyTake) {
  EXPECT_THAT(Runs(Keep(0)), ElementsAre(Kept(0x50000, 1), Kept(0x90000, 1)));
}

// The guard page lies between the stack pointer and what is mapped.
TEST_F(BeyondTheLimit, AnOverflowedStackIsKept) {
  const KeptMemory kept =
      KeepMemory(memory_, mappings_, {.limit = 0, .registers = {At(0x90000 - 64)}, .modules = {Library(0x50000)}});
  EXPECT_THAT(Runs(kept), ElementsAre(Kept(0x50000, 1), Kept(0x90000, 1)));
}

}  // namespace
}  // namespace recrash
