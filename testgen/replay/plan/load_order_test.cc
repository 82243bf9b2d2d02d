#include "testgen/replay/plan/load_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <link.h>

#include <cstring>

namespace recrash {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kLoader = 0x7f0000000000;

// Modules in the order of their addresses; the list of the loader has the program first.
class Loaded : public ::testing::Test {
 protected:
  Loaded() {
    for (const uint64_t base : {uint64_t{0x400000}, uint64_t{0x7e0000000000}, kLoader})
      report_.modules.push_back({"/lib/module", "", {base}, 0x1000, base, false});
    report_.memory.push_back({{kLoader}, std::vector<uint8_t>(0x1000)});
    PutMap(0x100, 0x400000, 0x200);
    PutMap(0x200, kLoader, 0x300);
    PutMap(0x300, 0x7e0000000000, 0);
    PutWord(8, kLoader + 0x100);  // r_map
  }
  void PutWord(uint64_t offset, uint64_t word) {
    std::memcpy(report_.memory[0].bytes.data() + offset, &word, sizeof word);
  }
  void PutMap(uint64_t offset, uint64_t base, uint64_t next) {
    PutWord(offset + 16, base + 0x800);  // l_ld
    PutWord(offset + 24, next ? kLoader + next : 0);
  }
  std::vector<uint32_t> Order() const { return LoadOrder(report_, {kLoader}); }

  Report report_;
};

TEST_F(Loaded, IsInTheOrderOfTheLoadersList) { EXPECT_THAT(Order(), ElementsAre(0, 2, 1)); }

TEST_F(Loaded, IsNotKnownWithoutTheWholeList) {
  PutWord(0x300 + 24, 0x1234);
  EXPECT_THAT(Order(), IsEmpty());
  PutWord(0x300 + 24, kLoader + 0x100);
  EXPECT_THAT(Order(), IsEmpty());
  EXPECT_THAT(LoadOrder(report_, {}), IsEmpty());
}

}  // namespace
}  // namespace recrash
