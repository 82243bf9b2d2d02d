#include "agent/process/changed_code.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace recrash {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr TargetAddress kPage = {0x401000};

class ChangedCode : public testing::Test {
 protected:
  CodeDifference Compare(PatchedBy patched = PatchedBy::kNobody) const {
    return CompareCode(kPage, memory_, file_, patched);
  }

  std::vector<uint8_t> file_ = std::vector<uint8_t>(4096, 0x48);
  std::vector<uint8_t> memory_ = file_;
};

TEST_F(ChangedCode, IsNoneWhereAllIsTheSame) {
  EXPECT_THAT(Compare().flipped, IsEmpty());
  EXPECT_EQ(Compare().changed, 0u);
}

TEST_F(ChangedCode, OneBitIsAFlip) {
  memory_[0x123] = 0x58;
  EXPECT_THAT(Compare().flipped, ElementsAre(FlippedByte{kPage + 0x123, 0x48, 0x58}));
  EXPECT_EQ(FlippedBit(Compare().flipped[0]), 4);
  EXPECT_EQ(Compare().changed, 0u);
}

TEST_F(ChangedCode, TwoBitsOfAByteAreNone) {
  memory_[0] = 0x4b;
  EXPECT_THAT(Compare().flipped, IsEmpty());
  EXPECT_EQ(Compare().changed, 1u);
}

// A program that patches itself may change single bits: je becomes jne.
TEST_F(ChangedCode, TwoBytesOfAPageAreNone) {
  memory_[0x10] = 0x49;
  memory_[0xff0] = 0x49;
  EXPECT_THAT(Compare().flipped, IsEmpty());
  EXPECT_EQ(Compare().changed, 2u);
}

TEST_F(ChangedCode, ABreakpointIsNone) {
  file_[7] = 0x4c;
  memory_[7] = 0xcc;
  EXPECT_THAT(Compare().flipped, IsEmpty());
  EXPECT_EQ(Compare().changed, 1u);
}

// The agent's patches lie in the same page.
TEST_F(ChangedCode, IsFoundBesideTheAgentsPatches) {
  for (const size_t entry : {0x100, 0x200})
    for (size_t i = 0; i < 5; ++i) memory_[entry + i] = static_cast<uint8_t>(0x49 + 3 * i);
  memory_[0x180] = 0x08;
  EXPECT_THAT(Compare().flipped, IsEmpty());
  EXPECT_THAT(Compare(PatchedBy::kAgent).flipped, ElementsAre(FlippedByte{kPage + 0x180, 0x48, 0x08}));
  EXPECT_EQ(Compare(PatchedBy::kAgent).changed, 0u);
  memory_[0x180] = 0x48;
  memory_[0x106] = 0x08;  // where a patch ends
  EXPECT_THAT(Compare(PatchedBy::kAgent).flipped, IsEmpty());
}

}  // namespace
}  // namespace recrash
