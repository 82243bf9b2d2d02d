#include "testgen/discern/choose_enabled.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

namespace recrash {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

FrameFacts Users(uint32_t index) { return {.index = index, .has_test = true, .is_users = true}; }
FrameFacts Librarys(uint32_t index) { return {.index = index, .has_test = true}; }

std::vector<std::string> Text(const std::vector<ChosenTest>& tests) {
  std::vector<std::string> text;
  for (const ChosenTest& test : tests) text.push_back((test.enabled ? "" : "disabled ") + std::to_string(test.frame));
  return text;
}

std::vector<std::string> Chosen(const std::vector<FrameFacts>& frames, const std::vector<AlreadyThere>& there = {}) {
  return Text(ChooseEnabled(frames, there));
}

// All inner frames run within the outermost one: whatever a fix changes, it sees.
TEST(ChooseEnabled, HasTheOutermostFirst) {
  EXPECT_THAT(Chosen({Users(0), Users(1), Users(2), Users(5)}), ElementsAre("5", "2", "1", "disabled 0"));
}

TEST(ChooseEnabled, LeavesOneAtLeast) {
  EXPECT_THAT(Chosen({Users(0)}), ElementsAre("0"));
  const std::vector<FrameFacts> frames = {Users(0), Users(1)};
  const std::vector<ChosenTest> tests = ChooseEnabled(frames, std::vector<AlreadyThere>{{1, 0}});
  EXPECT_THAT(Text(tests), ElementsAre("1", "disabled 0"));
  EXPECT_THAT(tests[0].doubt, HasSubstr("in the same way"));
  EXPECT_TRUE(Chosen({}).empty());
}

TEST(ChooseEnabled, LeavesOutWhatBeganWithTheDamageAndAllInsideOfIt) {
  const std::vector<FrameFacts> frames = {Users(0), Users(1), Users(2), Users(3)};
  const std::vector<ChosenTest> tests = ChooseEnabled(frames, std::vector<AlreadyThere>{{2, 0}});
  EXPECT_THAT(Text(tests), ElementsAre("3", "disabled 0", "disabled 1", "disabled 2"));
  EXPECT_EQ(tests[3].doubt, "frame 0 fails in the same way when it is called before this one has done anything");
  EXPECT_EQ(tests[2].doubt, "frame 0 fails in the same way when it is called before frame 2 has done anything");
}

TEST(ChooseEnabled, LeavesOutWhatOtherBuildsDoNotCallSo) {
  FrameFacts oddly = Users(1);
  oddly.is_called_oddly = true;
  EXPECT_THAT(Chosen({Users(0), oddly, Users(2)}), ElementsAre("2", "disabled 0", "disabled 1"));
}

// std::sort calls a function of the program's; std::vector::at calls none.
TEST(ChooseEnabled, LeavesOutLibraryCode) {
  FrameFacts inlined = Users(2);
  inlined.has_test = false;
  const std::vector<FrameFacts> frames = {Librarys(0), Librarys(1), inlined, Librarys(3), Users(4)};
  const std::vector<ChosenTest> tests = ChooseEnabled(frames, {});
  EXPECT_THAT(Text(tests), ElementsAre("4", "disabled 0", "disabled 1", "disabled 3"));
  EXPECT_THAT(tests[1].doubt, HasSubstr("only functions of the C++ library are on the stack"));
  EXPECT_THAT(tests[3].doubt, HasSubstr("tests further out run it too"));
  // A thread's function, say.
  EXPECT_THAT(Chosen({Librarys(0), inlined, Librarys(3)}), ElementsAre("3", "disabled 0"));
}

// The function that failed is then the first one that could have gone on.
TEST(ChooseEnabled, LeavesOutWhatNeverReturns) {
  FrameFacts fail = Users(0);
  fail.returns = false;
  const std::vector<FrameFacts> frames = {fail, Users(1), Users(2)};
  const std::vector<ChosenTest> tests = ChooseEnabled(frames, {});
  EXPECT_THAT(Text(tests), ElementsAre("2", "disabled 0", "disabled 1"));
  EXPECT_THAT(tests[1].doubt, HasSubstr("never returns"));
  EXPECT_THAT(tests[2].doubt, HasSubstr("the function that failed"));
}

TEST(ChooseEnabled, LeavesOutWhatHasNoStackLeft) {
  FrameFacts deep = Users(7);
  deep.stack_left = 1024;
  EXPECT_THAT(Chosen({Users(6), deep, Users(8)}), ElementsAre("8", "disabled 6", "disabled 7"));
}

// Where the recursion hit the stack's end no fix helps that ends it after so many levels; a thousand levels out one
// does.
TEST(StackLeft, IsToldOfAStackOverflowNearItsEnd) {
  Report report;
  report.mappings.push_back({{0x7fff00100000}, {0x7fff00900000}, kMapRead | kMapWrite, 0, "[stack]"});
  report.failure.signal = SIGSEGV;
  report.failure.address = {0x7fff000ffff8};
  EXPECT_EQ(StackLeft(report, {0x7fff00100400}), 1024u);
  EXPECT_EQ(StackLeft(report, {0x7fff00800000}), std::nullopt);
  report.failure.address = {0};  // as deep in the stack, but what failed was something else
  EXPECT_EQ(StackLeft(report, {0x7fff00100400}), std::nullopt);
}

TEST(ChooseEnabled, LeavesOutWhatWasHandedTheBadAddress) {
  FrameFacts handed = Users(1);
  handed.holds_bad_value = true;
  EXPECT_THAT(Chosen({Users(0), handed, Users(2)}), ElementsAre("2", "disabled 0", "disabled 1"));
}

}  // namespace
}  // namespace recrash
