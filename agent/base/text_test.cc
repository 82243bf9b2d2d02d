#include "agent/base/text.h"

#include <gtest/gtest.h>

namespace recrash {
namespace {

TEST(Hex, HasTwoDigitsForEachByte) {
  EXPECT_EQ(Hex({}), "");
  EXPECT_EQ(Hex(std::vector<uint8_t>{0x00, 0x3f, 0xff}), "003fff");
}

TEST(BaseName, IsWhatFollowsTheLastSlash) {
  EXPECT_EQ(BaseName("/usr/lib/libc.so"), "libc.so");
  EXPECT_EQ(BaseName("libc.so"), "libc.so");
  EXPECT_EQ(BaseName("/usr/"), "");
  EXPECT_EQ(BaseName(""), "");
}

TEST(IsWord, HasNoBlanksAndNoControls) {
  EXPECT_TRUE(IsWord("_ZN4Tree6insertEi"));
  EXPECT_TRUE(IsWord("\xc3\xa4"));
  for (const char* text : {"a b", "a\n", "\t", "\x7f"}) EXPECT_FALSE(IsWord(text)) << text;
}

TEST(ArgumentPointers, EndWithNull) {
  const std::vector<std::string> words = {"a", "b"};
  const std::vector<char*> pointers = ArgumentPointers(words);
  ASSERT_EQ(pointers.size(), 3u);
  EXPECT_STREQ(pointers[1], "b");
  EXPECT_EQ(pointers[2], nullptr);
}

}  // namespace
}  // namespace recrash
