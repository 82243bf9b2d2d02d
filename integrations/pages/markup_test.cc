#include "integrations/pages/markup.h"

#include <gtest/gtest.h>

namespace recrash::pages {
namespace {

TEST(Markup, NothingOfATextIsMarkup) {
  EXPECT_EQ(Escaped("<a href=\"x\" b='y'>&"), "&lt;a href=&quot;x&quot; b=&#39;y&#39;&gt;&amp;");
}

TEST(Markup, WhatIsHarmfulIsShown) { EXPECT_EQ(Escaped("a\x1b\n\xe2\x80\xae\xff"), "a\\x1b\\n\\u202e\\xff"); }

TEST(Markup, IsShortenedByCharacters) {
  EXPECT_EQ(Shortened("äöü", 3), "äöü");
  EXPECT_EQ(Shortened("äöüß", 3), "äö…");
  EXPECT_EQ(Shortened("", 3), "");
}

TEST(Markup, TabsAndLineEndsOfSources) { EXPECT_EQ(WithoutTabs("\ta\tb\r"), "    a   b"); }

TEST(Markup, AWordOfAShellIsOneWord) {
  EXPECT_EQ(ShellWord("/tmp/a-1.rcr"), "/tmp/a-1.rcr");
  EXPECT_EQ(ShellWord(""), "''");
  EXPECT_EQ(ShellWord("a b;$(c)"), "'a b;$(c)'");
  EXPECT_EQ(ShellWord("it's"), "'it'\\''s'");
  EXPECT_EQ(ShellWord("~"), "'~'");
  EXPECT_EQ(ShellWord("a\n'\x1b"), "$'a\\n\\'\\x1b'");
}

// printf alert | openssl dgst -sha256 -binary | base64
TEST(Markup, PoliciesNameAScriptByItsHash) {
  EXPECT_EQ(PolicyHash(""), "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
}

}  // namespace
}  // namespace recrash::pages
