#include "testgen/verify/unused_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "agent/report/pages.h"

namespace recrash {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr TargetAddress kGuard{0x700000}, kStack{0x701000}, kBlock{0x711000}, kEnd{0x713000}, kAfter{0x715000};
constexpr TargetAddress kLibrary{0x800000}, kLoader{0x900000}, kMap{0x5000};

class UnusedMemory : public testing::Test {
 protected:
  UnusedMemory() {
    report_.modules = {{"/bin/app", "01", {0x10000}, 0x8000, 0, true},
                       {"/lib/ld-linux-x86-64.so.2", "02", kLoader, 0x2000},
                       {"/lib/libx.so", "03", kLibrary, 0x2000}};
    report_.mappings = {{kGuard, kStack, 0, 0, ""}, {kStack, kAfter, kMapRead | kMapWrite, 0, ""}};
    report_.memory = {{kStack, std::vector<uint8_t>(kAfter - kStack, 1)}, {kLoader, std::vector<uint8_t>(4096, 1)}};
    Put(kBlock + 0x6c8, kGuard.value);
    Put(kBlock + 0x6d0, kEnd - kGuard);
    Put(kBlock + 0x6d8, kStack.value);
  }

  void Put(TargetAddress at, uint64_t word) { std::memcpy(&report_.memory[0].bytes[at - kStack], &word, sizeof word); }

  void PutSymbol(TargetAddress at, uint64_t hash, TargetAddress name, TargetAddress symbol, TargetAddress map) {
    Put(at, hash);
    Put(at + 8, name.value);
    Put(at + 16, symbol.value);
    Put(at + 24, map.value);
  }

  void PutTable(size_t count) {
    for (size_t i = 0; i < count; ++i) PutSymbol(kEnd + 64 * i, 77 + i, kLibrary + i, kLibrary + 0x100 + i, kMap);
  }

  std::vector<TargetAddress> Left() {
    LeaveOutUnusedMemory(&report_);
    std::vector<TargetAddress> left;
    Pages pages;
    LayPages(report_.memory, &pages);
    for (const auto& [address, bytes] : pages) left.push_back({address});
    return left;
  }

  TestReport report_;
};

TEST_F(UnusedMemory, IsTheLoadersAndWhatTheClientWroteBesideItsBlock) {
  EXPECT_THAT(Left(), ElementsAre(kBlock, kEnd, kEnd + 0x1000));
}

TEST_F(UnusedMemory, IsOfEntryStatesToo) {
  EntryMemory::Layer pages = report_.memory;
  pages.push_back({{0xa00000}, std::vector<uint8_t>(4096, 2)});
  EntryState& state = report_.replay.entry_states.emplace_back();
  state.mappings = {{{0xa00000}, {0xa01000}, kMapRead | kMapWrite, 0, ""}};
  state.memory = std::move(pages);
  LeaveOutUnusedMemory(&report_);
  std::vector<TargetAddress> left;
  for (const Region& region : report_.replay.entry_states[0].memory.own()) left.push_back(region.address);
  EXPECT_THAT(left, ElementsAre(kBlock, kEnd, TargetAddress{0xa00000}));
}

// A page of the table stays, without its entries.
TEST_F(UnusedMemory, LeavesWhatLiesBesideUniqueSymbols) {
  PutTable(9);
  Put(kEnd + 40, 0x1234);
  const std::vector<TargetAddress> symbols = UniqueSymbols(report_, {kMap});
  ClearUniqueSymbols(symbols, &report_.memory);
  EXPECT_EQ(report_.ReadWord(kEnd + 24), 0u);
  EXPECT_EQ(report_.ReadWord(kEnd + 64), 0u);
  EXPECT_EQ(report_.ReadWord(kEnd + 40), 0x1234u);
  EXPECT_EQ(report_.ReadWord(kEnd + 1024), 0x0101010101010101u);
}

// A block says where its mapping begins, how large that is, and where its stack begins. What says less is the
// program's.
TEST_F(UnusedMemory, IsNoMemoryThatDoesNotSaySo) {
  for (const uint64_t offset : {0x6c8, 0x6d0, 0x6d8}) {
    const uint64_t before = *report_.ReadWord(kBlock + offset);
    Put(kBlock + offset, before + 8);
    EXPECT_THAT(MemoryOfClient(report_), IsEmpty());
    Put(kBlock + offset, before);
  }
  EXPECT_EQ(MemoryOfClient(report_).size(), 2u);
  report_.mappings[0].flags = kMapRead;
  EXPECT_THAT(MemoryOfClient(report_), IsEmpty());
}

// A handler of the program's own failed there, or a frame outside has come from one.
TEST_F(UnusedMemory, IsNoStackOnWhichTheProgramWas) {
  Thread& thread = report_.threads.emplace_back();
  thread.registers.dwarf[7] = kBlock.value - 64;
  ASSERT_EQ(MemoryOfClient(report_).size(), 1u);
  EXPECT_EQ(MemoryOfClient(report_)[0].start, kBlock + 0x1000);
  thread.registers.dwarf[7] = kEnd.value;
  EXPECT_EQ(MemoryOfClient(report_).size(), 2u);
  report_.replay.frames.emplace_back().entry_sp = kStack;
  EXPECT_EQ(MemoryOfClient(report_).size(), 1u);
}

TEST_F(UnusedMemory, IsAlsoTheLoadersTableOfUniqueSymbols) {
  PutTable(9);
  EXPECT_EQ(UniqueSymbols(report_, {kMap}).size(), 9u);
  EXPECT_EQ(UniqueSymbols(report_, {kMap})[1], kEnd + 64);
}

TEST_F(UnusedMemory, IsNoTableOfOtherWords) {
  PutTable(9);
  EXPECT_THAT(UniqueSymbols(report_, {kMap + 8}), IsEmpty());
  PutSymbol(kEnd, uint64_t{1} << 32, kLibrary, kLibrary, kMap);      // no hash
  PutSymbol(kEnd + 64, 7, kLibrary, kLoader, kMap);                  // of two modules
  PutSymbol(kEnd + 128, 7, kAfter + 0x1000, kAfter + 0x1000, kMap);  // of none
  PutSymbol(kEnd + 192, 0, kLibrary, kLibrary, kMap);
  PutTable(0);
  EXPECT_THAT(UniqueSymbols(report_, {kMap}), IsEmpty());  // five are too few
}

}  // namespace
}  // namespace recrash
