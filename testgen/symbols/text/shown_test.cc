#include "testgen/symbols/text/shown.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace recrash {
namespace {

using ::testing::ElementsAre;

Shown Group(std::string text, std::vector<ShownMember> members) {
  return {std::move(text), true, std::move(members), false};
}

Shown Leaf(std::string text) { return {std::move(text), false, {}, false}; }

const Shown kTree = Group(
    "Tree", {{"root = ", Group("&", {{"key = ", Leaf("7")}, {"left = ", Leaf("nullptr")}})}, {"size = ", Leaf("1")}});

TEST(Shown, OnOneLine) {
  EXPECT_EQ(OneLine(kTree, 120), "Tree {root = &{key = 7, left = nullptr}, size = 1}");
  EXPECT_EQ(OneLine(Group("Empty", {}), 120), "Empty {}");
}

// A long inner object does not cost the outer object's last member.
TEST(Shown, LosesTheInnermostLevelsFirst) {
  EXPECT_EQ(OneLine(kTree, 40), "Tree {root = &{…}, size = 1}");
  EXPECT_THAT(SeveralLines(kTree, 30, 4), ElementsAre("Tree {root = &{…}, size = 1}"));
}

TEST(Shown, CutsOneLevelOnlyAtTheLimit) {
  EXPECT_EQ(OneLine(kTree, 25), "Tree {root = &{…}, …}");
  EXPECT_EQ(OneLine(Leaf("ééééé"), 5), "éé…");
}

TEST(Shown, OverSeveralLines) {
  EXPECT_THAT(SeveralLines(kTree, 36, 20),
              ElementsAre("Tree {", "  root = &{key = 7, left = nullptr},", "  size = 1", "}"));
  EXPECT_THAT(SeveralLines(kTree, 30, 20),
              ElementsAre("Tree {", "  root = &{", "    key = 7,", "    left = nullptr", "  },", "  size = 1", "}"));
}

TEST(Shown, FillsLinesWithPlainElements) {
  Shown numbers = Group("of 9", {});
  for (int i = 0; i < 5; ++i) numbers.members.push_back({"", Leaf("100")});
  numbers.is_cut = true;
  EXPECT_THAT(SeveralLines(numbers, 14, 9), ElementsAre("of 9 {", "  100, 100,", "  100, 100,", "  100, …", "}"));
}

TEST(Shown, HasNoMoreLinesThanAsked) {
  Shown object = Group("Wide", {});
  for (int i = 0; i < 50; ++i) object.members.push_back({"m" + std::to_string(i) + " = ", Leaf("1")});
  const auto lines = SeveralLines(object, 20, 6);
  EXPECT_THAT(lines, ElementsAre("Wide {", "  m0 = 1,", "  m1 = 1,", "  m2 = 1,", "  …", "}"));
}

}  // namespace
}  // namespace recrash
