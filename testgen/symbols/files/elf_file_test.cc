// What is told of a file: a stripped one too, and one that is damaged.
#include "testgen/symbols/files/elf_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <random>

#include "agent/base/testing_files.h"
#include "testgen/symbols/testing_crashed_process.h"

namespace recrash {
namespace {

using testing::ElementsAre;

constexpr char kProgram[] = R"(
int g_table[4] = {1, 2, 3, 4};
__attribute__((noinline)) int Leaf(int value) { return g_table[value & 3]; }
__attribute__((noinline)) int Sum(int count) {
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += Leaf(i);
  return sum;
}
int main(int argc, char**) { return Sum(argc); }
)";

const ElfSymbol& SymbolOf(ElfFile& file, std::string_view name) {
  return *std::ranges::find(file.symbols(), name, &ElfSymbol::name);
}

// Symbols of functions say how long they are. So does call frame information, all that a stripped file has.
TEST(ElfFile, KnowsFunctionsWithoutSymbols) {
  // At -Os, functions stand without padding between them.
  for (const char* flags : {"-O2", "-O0", "-Os", "-O2 -no-pie -fno-pie"}) {
    const Fixture fixture(kProgram, flags);
    fixture.Run("cp program stripped && strip stripped");
    const auto with = ElfFile::Open(fixture.path());
    const auto without = ElfFile::Open(fixture.path("stripped"));
    ASSERT_TRUE(with && without);
    for (const char* name : {"_Z4Leafi", "_Z3Sumi", "main"}) {
      const ElfSymbol& symbol = SymbolOf(**with, name);
      const auto named = (*with)->FunctionAt(symbol.address);
      ASSERT_TRUE(named) << name;
      EXPECT_THAT(named->names, ElementsAre(name));
      for (const uint64_t at : {symbol.address, symbol.address + symbol.size - 1}) {
        const auto range = (*without)->FunctionAt(at);
        ASSERT_TRUE(range) << name;
        EXPECT_EQ(range->start, symbol.address);
        EXPECT_EQ(range->size, symbol.size) << name;
        EXPECT_THAT(range->names, ElementsAre());
      }
      const auto behind = (*without)->FunctionAt(symbol.address + symbol.size);
      EXPECT_TRUE(!behind || behind->start == symbol.address + symbol.size) << name;
    }
    EXPECT_FALSE((*without)->FunctionAt(0));
    EXPECT_FALSE((*without)->FunctionAt(UINT64_MAX));
  }
}

TEST(ElfFile, HasAnObjectAtEachOfItsAddresses) {
  const Fixture fixture(kProgram);
  const auto file = ElfFile::Open(fixture.path());
  ASSERT_TRUE(file);
  const ElfSymbol& table = SymbolOf(**file, "g_table");
  EXPECT_EQ((*file)->ObjectAt(table.address + 15), &table);
  EXPECT_NE((*file)->ObjectAt(table.address + 16), &table);
  EXPECT_EQ((*file)->ObjectAt(SymbolOf(**file, "main").address), nullptr);
}

TEST(ElfFile, OfTheDebugHalfHasNoCode) {
  const Fixture fixture(kProgram, "-O2 -g -Wl,--build-id");
  fixture.Run(
      "objcopy --only-keep-debug program half.debug && strip program && "
      "objcopy --add-gnu-debuglink=half.debug program");
  const auto program = ElfFile::Open(fixture.path());
  const auto half = ElfFile::Open(fixture.path("half.debug"));
  ASSERT_TRUE(program && half);
  EXPECT_EQ((*program)->build_id(), (*half)->build_id());
  EXPECT_EQ((*program)->debug_link(), "half.debug");
  EXPECT_EQ((*half)->debug_link(), "");
  EXPECT_TRUE((*program)->has_code());
  EXPECT_FALSE((*half)->has_code());
  EXPECT_FALSE((*program)->has_dwarf());
  EXPECT_TRUE((*half)->has_dwarf());
  EXPECT_NE((*half)->dwarf(), nullptr);
  EXPECT_EQ((*half)->eh_frame(), nullptr);
  EXPECT_TRUE((*half)->FunctionAt(SymbolOf(**half, "main").address));
}

// Headers, tables of symbols, of functions, of call frame information: whatever they hold, asking ends.
// The texts of its debug information lie in another file, of the same program here.
class SharedTexts : public testing::Test {
 protected:
  SharedTexts() : fixture_(kProgram, "-O1 -gdwarf-4 -Wl,--build-id=0x4141414141414141") {
    fixture_.Write("text.cc", kProgram);
    fixture_.Run(
        "clang++-19 -O1 -gdwarf-4 -S text.cc -o text.s && clang++-19 text.s -o whole "
        "-Wl,--build-id=0x4141414141414141");
    fixture_.Run("sed 's/\\.byte.14 .*DW_FORM_strp$/.byte 0xa1, 0x3e/' text.s > part.s && clang++-19 part.s -o part");
  }
  // The name of the compilation unit in `part`, which leads to `file`; empty without debug information.
  std::string NameWith(const std::string& file, const std::string& id = "AAAAAAAA") const {
    fixture_.Run("printf '%s\\0" + id + "' " + file +
                 " > link && objcopy --add-section .gnu_debugaltlink=link part linked");
    alarm(30);
    const auto linked = ElfFile::Open(fixture_.path("linked"));
    Dwarf* dwarf = linked ? (*linked)->dwarf() : nullptr;
    std::string name;
    Dwarf_CU* unit = nullptr;
    Dwarf_Die die;
    if (dwarf && dwarf_get_units(dwarf, unit, &unit, nullptr, nullptr, &die, nullptr) == 0 && dwarf_diename(&die))
      name = dwarf_diename(&die);
    alarm(0);
    return name;
  }
  Fixture fixture_;
};

TEST_F(SharedTexts, AreReadFromAnOrdinaryFileWithTheBuildId) {
  EXPECT_EQ(NameWith("whole"), "text.cc");
  EXPECT_EQ(NameWith(fixture_.path("whole")), "text.cc");
  EXPECT_EQ(NameWith("whole", "BBBBBBBB"), "");
  EXPECT_EQ(NameWith("nothing"), "");
}

TEST_F(SharedTexts, AreNotWaitedFor) {
  fixture_.Run("mkfifo fifo && ln -s fifo link_to_fifo");
  for (const char* name : {"fifo", "link_to_fifo", "/dev/tty", "/proc/self/fd/0"})
    EXPECT_EQ(NameWith(name), "") << name;
}

TEST(ElfFile, SurvivesDamage) {
  const Fixture fixture(kProgram, "-O2 -Wl,--build-id");
  fixture.Run("cp program stripped && strip stripped");
  std::mt19937_64 random(7);
  for (const char* name : {"program", "stripped"}) {
    const std::vector<uint8_t> good = ReadBytes(fixture.path(name));
    const uint64_t interesting[] = {0, 1, 0xff, 0x7fffffff, 0xffffffff, UINT64_MAX, UINT64_MAX - 63, good.size()};
    int opened = 0;
    for (int round = 0; round < 300; ++round) {
      std::vector<uint8_t> bad = good;
      for (int i = 0; i < 6; ++i)
        memcpy(bad.data() + random() % (bad.size() - 8), &interesting[random() % std::size(interesting)],
               1 + random() % 8);
      WriteBytes(fixture.path("bad"), bad);
      const auto file = ElfFile::Open(fixture.path("bad"));
      if (!file) continue;
      ++opened;
      (*file)->debug_link();
      for (uint64_t address = 0; address < 0x4000; address += 0x31) {
        const auto range = (*file)->FunctionAt(address);
        EXPECT_TRUE(!range || address - range->start < range->size);
        (*file)->ObjectAt(address);
      }
    }
    EXPECT_GT(opened, 100) << name;
  }
}

}  // namespace
}  // namespace recrash
