#include "integrations/terminal/suggestion.h"

#include <gtest/gtest.h>

namespace recrash::cli {
namespace {

const std::vector<std::string> kCommands = {"run", "list", "show", "reproduce", "redact"};

TEST(Nearest, IsOneOrTwoTypingErrorsAway) {
  EXPECT_EQ(Nearest("reprodce", kCommands), "reproduce");
  EXPECT_EQ(Nearest("repordcue", kCommands), "reproduce");
  EXPECT_EQ(Nearest("shwo", kCommands), "show");
  EXPECT_EQ(Nearest("ru", kCommands), "run");
  EXPECT_EQ(Nearest("rum", kCommands), "run");
}

TEST(Nearest, DoesNotGuess) {
  EXPECT_EQ(Nearest("build", kCommands), "");
  EXPECT_EQ(Nearest("", kCommands), "");
  EXPECT_EQ(Nearest(std::string(100000, 'r'), kCommands), "");
  EXPECT_EQ(Nearest("bat", {"cat", "rat"}), "");
}

}  // namespace
}  // namespace recrash::cli
