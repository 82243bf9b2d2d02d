#include "testgen/symbols/text/text.h"

#include <gtest/gtest.h>

namespace recrash {
namespace {

TEST(Text, IsEscaped) {
  EXPECT_EQ(EscapeText("a\"b\\c\n\t\x01\x7f"), "a\\\"b\\\\c\\n\\t\\x01\\x7f");
  EXPECT_EQ(EscapeText("gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f");           // umlauts stay
  EXPECT_EQ(EscapeText("\xe2\x80\xae"), "\\xe2\\x80\\xae");                    // right-to-left override
  EXPECT_EQ(EscapeText("\xc3"), "\\xc3");                                      // cut short
  EXPECT_EQ(EscapeText("\xc0\xaf\xed\xa0\x80"), "\\xc0\\xaf\\xed\\xa0\\x80");  // overlong, surrogate
  EXPECT_EQ(EscapeText("'\"", '\''), "\\'\"");
}

}  // namespace
}  // namespace recrash
