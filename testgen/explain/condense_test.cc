#include "testgen/explain/condense.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace recrash::explain {
namespace {

using testing::ElementsAre;

Link At(uint32_t line, LinkKind kind, const std::string& text, uint32_t depth = 0) {
  return {.kind = kind, .function = "F", .file = "f.cc", .line = line, .text = text, .depth = depth};
}

std::vector<std::string> Told(const std::vector<Link>& links) {
  std::vector<std::string> told;
  for (const Link& link : Condense(links))
    told.push_back(std::string(link.depth, ' ') + std::to_string(link.line) + " " + link.text);
  return told;
}

TEST(Condense, OfLinksInOneLineTheOneThatSaysMostStays) {
  EXPECT_THAT(Told({At(1, LinkKind::kFailed, "failed here"), At(2, LinkKind::kWritten, "written here"),
                    At(2, LinkKind::kReturned, "Find returned null"), At(2, LinkKind::kWritten, "written here")}),
              ElementsAre("1 failed here", "2 Find returned null"));
}

TEST(Condense, WhatDecidedDoesNotPartALine) {
  EXPECT_THAT(Told({At(2, LinkKind::kComputed, "chosen here"), At(2, LinkKind::kDecided, "this condition", 1),
                    At(3, LinkKind::kReturned, "Size returned 0", 1), At(2, LinkKind::kConstant, "the constant 0")}),
              ElementsAre("2 the constant 0, by a condition in this line", " 2 this condition", " 3 Size returned 0"));
}

TEST(Condense, WhereAValueLiesIsToldWithTheLine) {
  EXPECT_THAT(Told({At(1, LinkKind::kFailed, "failed here"), At(1, LinkKind::kLies, "it lies in a freed block")}),
              ElementsAre("1 failed here; it lies in a freed block"));
}

TEST(Condense, AFreeIsToldForItself) {
  EXPECT_THAT(Told({At(1, LinkKind::kFailed, "failed here"), At(1, LinkKind::kFreed, "freed here")}),
              ElementsAre("1 failed here", "1 freed here"));
}

TEST(Condense, WhatUndoesALinkUndoesNoOtherOfItsLine) {
  Link decided = At(1, LinkKind::kDecided, "this condition led there");
  decided.experiment = 3;
  const std::vector<Link> links = Condense({At(1, LinkKind::kArgument, "F was called with n = 1"), decided});
  ASSERT_EQ(links.size(), 1u);
  EXPECT_EQ(links[0].experiment, -1);
}

TEST(Condense, NothingIsToldTwice) {
  EXPECT_THAT(Told({At(1, LinkKind::kWritten, "written here"), At(2, LinkKind::kWritten, "written here"),
                    At(1, LinkKind::kWritten, "written here")}),
              ElementsAre("1 written here", "2 written here"));
}

TEST(Condense, TheBeginningOfThePastSaysNothingOfConditions) {
  EXPECT_THAT(Told({At(1, LinkKind::kFailed, "failed here"), At(2, LinkKind::kBefore, "it was so", 1),
                    At(3, LinkKind::kBefore, "it was so")}),
              ElementsAre("1 failed here", "3 it was so"));
}

}  // namespace
}  // namespace recrash::explain
