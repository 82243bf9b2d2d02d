#include "testgen/emit/text.h"

#include <gtest/gtest.h>

#include "testgen/emit/testing_frames.h"

namespace recrash {
namespace {

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
