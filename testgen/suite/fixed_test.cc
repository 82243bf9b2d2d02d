#include "testgen/suite/fixed.h"

#include <gtest/gtest.h>

namespace recrash {
namespace {

constexpr char kSource[] = R"(// Frame 0: f.
TEST(CrashTest, Frame0_f) {
  recrash::Frame frame(0);
}

// Frame 1: g.
// Disabled: of an earlier fix
TEST(CrashTest, DISABLED_Frame1_g) {
}

TEST(CrashTest, Frame10_f) {}
TEST(CrashTestInTwin, Frame0_f) {}
TEST(Mine, Frame0_f) {}
)";

TEST(WithDisabled, ChangesTheTestsThatAreNamed) {
  const std::vector<AfterFix> tests = {
      {"CrashTest", "Frame0_f", false, "stays red after the fix: SIGSEGV in f\nTEST(Evil, x) {}"},
      {"CrashTest", "Frame1_g", true, ""}};
  EXPECT_EQ(WithDisabled(kSource, tests), R"(// Frame 0: f.
// Disabled: stays red after the fix: SIGSEGV in f\nTEST(Evil, x) {}
TEST(CrashTest, DISABLED_Frame0_f) {
  recrash::Frame frame(0);
}

// Frame 1: g.
TEST(CrashTest, Frame1_g) {
}

TEST(CrashTest, Frame10_f) {}
TEST(CrashTestInTwin, Frame0_f) {}
TEST(Mine, Frame0_f) {}
)");
}

TEST(WithDisabled, OfItsOwnResultIsTheSame) {
  const std::vector<AfterFix> tests = {{"CrashTest", "Frame0_f", false, "stays red"},
                                       {"CrashTestInTwin", "Frame0_f", false, "is not decided"}};
  const std::string once = WithDisabled(kSource, tests);
  EXPECT_EQ(WithDisabled(once, tests), once);
  EXPECT_EQ(WithDisabled("", tests), "");
  EXPECT_EQ(WithDisabled("no end of line", tests), "no end of line");
}

}  // namespace
}  // namespace recrash
