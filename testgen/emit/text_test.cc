#include "testgen/emit/text.h"

#include <gtest/gtest.h>

#include "testgen/emit/testing_frames.h"

namespace recrash {
namespace {

TEST(PrintableText, KeepsWhatPeopleRead) {
  EXPECT_EQ(PrintableText("Tree::insert(int) – naïve ✓"), "Tree::insert(int) – naïve ✓");
}

TEST(PrintableText, NamesWhatATerminalWouldObey) {
  EXPECT_EQ(PrintableText("a\nb\tc\x1b[31m\x07"), "a\\nb\\tc\\x1b[31m\\x07");
  EXPECT_EQ(PrintableText(std::string("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(PrintableText("\xc2\x9b"), "\\u009b");  // CSI as one C1 character
}

// CVE-2021-42574: source that reads in another order than it compiles.
TEST(PrintableText, NamesCharactersThatTurnTheDirection) {
  EXPECT_EQ(PrintableText("\xe2\x80\xae\xe2\x81\xa6\xe2\x80\x8b"), "\\u202e\\u2066\\u200b");
}

TEST(PrintableText, NamesEachByteThatIsNotUtf8) {
  EXPECT_EQ(PrintableText("\xff"), "\\xff");
  EXPECT_EQ(PrintableText("\xc0\xaf"), "\\xc0\\xaf");                    // overlong
  EXPECT_EQ(PrintableText("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // surrogate
  EXPECT_EQ(PrintableText("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // beyond U+10FFFF
  EXPECT_EQ(PrintableText("\xe2\x80"), "\\xe2\\x80");                    // cut
}

TEST(CommentText, HasNoCommentMarksTrigraphsOrFinalBackslash) {
  EXPECT_EQ(CommentText("a */ b /* c"), "a * / b / * c");
  EXPECT_EQ(CommentText("what?\?/"), "what? ?/");
  EXPECT_EQ(CommentText("dir\\"), "dir\\.");
  EXPECT_EQ(CommentText("dir\\  "), "dir\\.");
}

TEST(CommentText, IsCutAtACharacter) {
  EXPECT_EQ(CommentText("abcdefghij", 8), "abcde...");
  EXPECT_EQ(CommentText("abcd\xc3\xa4xyz", 8), "abcd...");  // not in the middle of a-umlaut
  EXPECT_EQ(CommentText("abcdefgh", 8), "abcdefgh");
}

TEST(CommentText, OfAnythingIsOneHarmlessLine) {
  for (const std::string& hostile : testing_frames::HostileTexts()) {
    const std::string text = CommentText(hostile);
    EXPECT_EQ(text.find_first_of("\n\r\f\v"), text.npos);
    EXPECT_EQ(text.find("*/"), text.npos);
    EXPECT_EQ(text.find("/*"), text.npos);
    EXPECT_EQ(text.find("?\?"), text.npos);
    EXPECT_FALSE(text.ends_with('\\'));
    EXPECT_LE(text.size(), 401u);
  }
}

TEST(CppString, EscapesWhatALiteralCannotHold) {
  EXPECT_EQ(CppString("say \"hi\" \\ \n"), R"("say \"hi\" \\ \n")");
  EXPECT_EQ(CppString(std::string("\0001", 2)), R"("\0001")");  // the digit is not part of the escape
  EXPECT_EQ(CppString("\xff"), R"("\377")");
  EXPECT_EQ(CppString("?\?/"), R"("?\?/")");
  EXPECT_EQ(CppString("\xe2\x80\xae"), R"("\342\200\256")");
}

}  // namespace
}  // namespace recrash
