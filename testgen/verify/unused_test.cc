#include "testgen/verify/unused.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>

namespace recrash {
namespace {

using testing::ElementsAre;

constexpr TargetAddress kProgram{0x10000}, kLoader{0x90000}, kData{0x20000}, kThread{0x20100};
constexpr uint64_t kGuard = 0x1234567890abcdef;

class Unused : public testing::Test {
 protected:
  Unused() {
    report_.modules = {{"/bin/app", "01", kProgram, 0x8000, 0, true},
                       {"/lib/ld-linux-x86-64.so.2", "02", kLoader, 0x2000}};
    report_.memory = {{kData, std::vector<uint8_t>(4096)}, {kLoader, std::vector<uint8_t>(4096)}};
    Thread& thread = report_.threads.emplace_back();
    thread.failing = true;
    thread.registers.fs_base = kThread.value;
    Put(kThread + 0x30, kGuard);
    ModuleImage& image = report_.replay.images.emplace_back();
    image.base = kProgram;
    image.symbols = {{0x10, 8, true, "main"},
                     {0x20, 8, true, "_ZN7recrash6client8OnSignalEi"},
                     {0x30, 8, true, "_ZN7recrash6client6AtExitEv@"},
                     {0x40, 64, false, "_ZN7recrash6client8g_recordE@"},
                     {0x80, 8, false, "_ZL5count@main.cc"},
                     {0x90, 8, true, "_ZNSt6vectorIiSaIiEE4sizeEv"},
                     {0xa0, 8, true, "_ZNKSt8functionIFvvEEclEv"}};
  }

  void Put(TargetAddress at, uint64_t word) { std::memcpy(&report_.memory[0].bytes[at - kData], &word, sizeof word); }

  std::vector<std::string> Left() {
    LeaveOutUnused(&report_);
    std::vector<std::string> names;
    for (const Symbol& symbol : report_.replay.images[0].symbols)
      names.push_back(symbol.name.substr(0, symbol.name.find('@')));
    return names;
  }

  TestReport report_;
};

TEST_F(Unused, SymbolsAreOursAndTheLibrarys) { EXPECT_THAT(Left(), ElementsAre("main", "_ZL5count")); }

// A word is translated by the symbol that it leads into. The C library mixes its guard into pointers to code.
TEST_F(Unused, SymbolsAreNotThoseThatWordsLeadTo) {
  Put(kData, kProgram.value + 0x50);
  Put(kData + 8, std::rotl((kProgram.value + 0x30) ^ kGuard, 17));
  EXPECT_THAT(Left(), ElementsAre("main", "_ZN7recrash6client6AtExitEv", "_ZN7recrash6client8g_recordE", "_ZL5count"));
}

TEST_F(Unused, SymbolsAreNotThoseOfFunctionsThatATestCalls) {
  report_.replay.frames.emplace_back().entry = kProgram + 0xa0;
  report_.replay.place.function_start = kProgram + 0x20;
  EXPECT_THAT(Left(), ElementsAre("main", "_ZN7recrash6client8OnSignalEi", "_ZL5count", "_ZNKSt8functionIFvvEEclEv"));
}

TEST_F(Unused, SymbolsAreNotThoseOfWordsThatTestsHave) {
  ReplayFrame& frame = report_.replay.frames.emplace_back();
  const uint64_t word = kProgram.value + 0x20;
  std::memcpy(frame.words.emplace_back().bytes.data(), &word, sizeof word);
  frame.fields.emplace_back().address = {0x7};
  frame.fields[0].bytes.assign(9, 0);
  const uint64_t other = kProgram.value + 0x40;
  std::memcpy(&frame.fields[0].bytes[1], &other, sizeof other);
  EXPECT_THAT(Left(),
              ElementsAre("main", "_ZN7recrash6client8OnSignalEi", "_ZN7recrash6client8g_recordE", "_ZL5count"));
}

// Without the names of the program's own a function that another build has out of line would count as new.
TEST_F(Unused, NamesOfInlinedFunctionsAreOurs) {
  std::vector<std::string>& names = report_.replay.images[0].inlined;
  names = {"_ZN15google_breakpad13PageAllocator5AllocEm", "_ZN4Tree4SizeEv", "_ZN7recrash11signal_safe4CallEv"};
  LeaveOutUnused(&report_);
  EXPECT_THAT(names, ElementsAre("_ZN4Tree4SizeEv"));
}

TEST_F(Unused, MemoryIsTheLoaders) {
  LeaveOutUnused(&report_);
  ASSERT_EQ(report_.memory.size(), 1u);
  EXPECT_EQ(report_.memory[0].address, kData);
}

}  // namespace
}  // namespace recrash
