#include "agent/base/printable_text.h"

#include <gtest/gtest.h>

namespace recrash {
namespace {

TEST(PrintableText, KeepsWhatPeopleRead) {
  EXPECT_EQ(PrintableText("Tree::insert(int) – naïve ✓"), "Tree::insert(int) – naïve ✓");
}

TEST(PrintableText, NamesWhatATerminalWouldObey) {
  EXPECT_EQ(PrintableText("a\nb\tc\x1b[31m\x07"), "a\\nb\\tc\\x1b[31m\\x07");
  EXPECT_EQ(PrintableText(std::string("a\0b", 3)), "a\\0b");
  EXPECT_EQ(PrintableText("\xc2\x9b"), "\\u009b");  // CSI as one C1 character
}

// Nobody sees them, or they mean something to the program that shows the text.
TEST(PrintableText, NamesWhatNobodySees) {
  EXPECT_EQ(PrintableText("\xc2\xad\xd8\x9c\xe1\xa0\x8e"), "\\u00ad\\u061c\\u180e");
  EXPECT_EQ(PrintableText("\xe2\x80\xa8\xe2\x81\xa0\xef\xbb\xbf"), "\\u2028\\u2060\\ufeff");
  EXPECT_EQ(PrintableText("\xef\xbf\xb9\xef\xbf\xbe\xf0\x9f\xbf\xbf\xf3\xa0\x80\x81"),
            "\\ufff9\\ufffe\\u1ffff\\ue0001");
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
  EXPECT_EQ(PrintableText("\xe0\x80\xaf"), "\\xe0\\x80\\xaf");           // overlong in three bytes
  EXPECT_EQ(PrintableText("\xf0\x80\x80\xaf"), "\\xf0\\x80\\x80\\xaf");  // and in four
  EXPECT_EQ(PrintableText("\xf8\x90\x80\x80"), "\\xf8\\x90\\x80\\x80");  // no length that there is
  EXPECT_EQ(PrintableText("\xc3("), "\\xc3(");                           // goes on with another character
  EXPECT_EQ(PrintableText("\xe2\x80"), "\\xe2\\x80");                    // cut
  // Cut where the bytes behind would complete it.
  EXPECT_EQ(PrintableText(std::string_view("\xe2\x9c\x93", 2)), "\\xe2\\x9c");
}

// A line end in a name must not make a line that looks like ours.
TEST(PrintableLines, IndentsAllLinesButTheFirst) {
  EXPECT_EQ(PrintableLines("x: no such file\n  give another"), "x: no such file\n  give another\n");
  EXPECT_EQ(PrintableLines("\x1b[2J\nrecrash: reproduced\n"), "\\x1b[2J\n  recrash: reproduced\n");
  EXPECT_EQ(PrintableLines(""), "");
}

// What the agent and the guest print.
TEST(CopyPrintable, CutsBetweenCharacters) {
  const std::string text = "\x1b]0;\xc2\x9b";
  char out[16];
  CopyPrintable(out, sizeof out, text.data(), text.size());
  EXPECT_STREQ(out, "\\x1b]0;\\u009b");
  CopyPrintable(out, 13, text.data(), text.size());
  EXPECT_STREQ(out, "\\x1b]0;");
  CopyPrintable(out, 1, text.data(), text.size());
  EXPECT_STREQ(out, "");
}

TEST(EscapeText, IsForQuotationMarks) {
  EXPECT_EQ(EscapeText("a\"b\\c\n\t\x01\x7f"), "a\\\"b\\\\c\\n\\t\\x01\\x7f");
  EXPECT_EQ(EscapeText("gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f");           // umlauts stay
  EXPECT_EQ(EscapeText("\xe2\x80\xae"), "\\u202e");                            // right-to-left override
  EXPECT_EQ(EscapeText("\xc3"), "\\xc3");                                      // cut short
  EXPECT_EQ(EscapeText("\xc0\xaf\xed\xa0\x80"), "\\xc0\\xaf\\xed\\xa0\\x80");  // overlong, surrogate
  EXPECT_EQ(EscapeText("'\"", '\''), "\\'\"");
}

}  // namespace
}  // namespace recrash
