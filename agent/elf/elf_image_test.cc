#include "agent/elf/elf_image.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "agent/base/testing_files.h"

extern "C" __attribute__((used, noinline)) int RecrashElfImageTestFunction(int value) { return value * 3 + 1; }

extern "C" const char __executable_start[];  // the linker's: where address 0 of the file is

namespace recrash {
namespace {

uint64_t InFile(const void* address) {
  return reinterpret_cast<uint64_t>(address) - reinterpret_cast<uint64_t>(__executable_start);
}

// Asked about itself: this test's own file.
TEST(ElfImage, KnowsWhereFunctionsBeginAndTheirNames) {
  const Result<ElfImage> image = ElfImage::Open("/proc/self/exe");
  ASSERT_TRUE(image);
  const uint64_t start = InFile(reinterpret_cast<const void*>(&RecrashElfImageTestFunction));
  EXPECT_EQ(image->FunctionStart(start), start);
  EXPECT_EQ(image->FunctionStart(start + 2), start);
  EXPECT_NE(image->FunctionStart(start - 1), start);
  EXPECT_EQ(image->FunctionNames({start}).at(start), "RecrashElfImageTestFunction");
  EXPECT_FALSE(image->IsPatchable(start));
  EXPECT_FALSE(image->FunctionStart(0));
  EXPECT_FALSE(image->FunctionStart(UINT64_MAX));
  EXPECT_TRUE(image->IsReturnAddress(InFile(__builtin_return_address(0))));
  EXPECT_FALSE(image->IsReturnAddress(start + 1));
}

// Whatever bytes it has: no read outside of them.
TEST(ElfImage, SurvivesDamage) {
  TemporaryDirectory folder;
  std::vector<uint8_t> good = ReadBytes(RECRASH_TEST_SMALL_PROGRAM);
  std::mt19937_64 random(5);
  const uint64_t interesting[] = {0, 1, 0xff, 0xffffffff, UINT64_MAX, UINT64_MAX - 7, good.size(), good.size() - 1};
  int opened = 0;
  const int rounds = 300;
  for (int round = 0; round < rounds; ++round) {
    std::vector<uint8_t> bad = good;
    // Headers of the file, of its segments, and of its sections, which come last.
    for (int i = 0; i < 4; ++i) {
      const size_t from_end = random() % 2048;
      const size_t at = i % 2 == 0 ? random() % 1024 : bad.size() - 8 - from_end;
      memcpy(bad.data() + at, &interesting[random() % std::size(interesting)], 1 + random() % 8);
    }
    if (round % 7 == 0) bad.resize(random() % bad.size() + 1);
    WriteBytes(folder / "bad", bad);
    const Result<ElfImage> image = ElfImage::Open(folder / "bad");
    if (!image) continue;
    ++opened;
    for (uint64_t address = 0; address < 0x2000; address += 0x111) {
      image->FunctionStart(address);
      image->IsPatchable(address);
      image->IsReturnAddress(address);
    }
    image->FunctionNames({0x1000, 0x1040, 0x1139});
  }
  EXPECT_GT(opened, 0);
  EXPECT_LT(opened, rounds);
}

}  // namespace
}  // namespace recrash
