#include "testgen/suite/frame_choice.h"

#include <gtest/gtest.h>

namespace recrash {
namespace {

constexpr uint64_t kStack = 0x7ffe00000000;

// A function, a call that was inlined, the function around it, and main.
class FramesOfAStack : public ::testing::Test {
 protected:
  FramesOfAStack() {
    report_.mappings.push_back({{kStack}, {kStack + 0x1000}, kMapRead | kMapWrite, 0, "[stack]"});
    for (const uint64_t sp : {kStack + 0x100, kStack - 0x4000, kStack + 0x300, kStack + 0x500}) {
      Frame frame;
      frame.index = static_cast<uint32_t>(backtrace_.frames.size());
      frame.entry_sp = {sp};
      frame.inlined = sp < kStack;  // for a call of a copy, below the stack that was used
      backtrace_.frames.push_back(frame);
    }
  }
  Result<std::vector<StackPart>> Choose(const std::string& choice) const {
    return ChooseStack(choice, report_, backtrace_);
  }

  Report report_;
  Backtrace backtrace_;
};

TEST_F(FramesOfAStack, HaveTheMemoryBetweenTheReturnAddresses) {
  const auto parts = Choose("0,2");
  ASSERT_TRUE(parts);
  ASSERT_EQ(parts->size(), 2u);
  EXPECT_EQ((*parts)[0].low.value, kStack);
  EXPECT_EQ((*parts)[0].high.value, kStack + 0x108);
  EXPECT_EQ((*parts)[1].low.value, kStack + 0x108);
  EXPECT_EQ((*parts)[1].high.value, kStack + 0x308);
}

TEST_F(FramesOfAStack, StandForThoseThatAreInlinedIntoThem) {
  for (const char* choice : {"1", "1-2", "2"}) {
    const auto parts = Choose(choice);
    ASSERT_TRUE(parts) << choice;
    EXPECT_EQ((*parts)[0].low.value, kStack + 0x108) << choice;
    EXPECT_EQ((*parts)[0].high.value, kStack + 0x308) << choice;
  }
  EXPECT_TRUE(Choose("1-"));
  EXPECT_FALSE(Choose("4"));
}

}  // namespace
}  // namespace recrash
