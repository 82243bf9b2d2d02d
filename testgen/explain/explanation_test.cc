#include "testgen/explain/explanation.h"

#include <gtest/gtest.h>

namespace recrash::explain {
namespace {

TEST(Explanation, SaysThatItsTimeWasOver) {
  Explanation explanation{.failure = "", .links = {}, .began = "main", .is_exact = true, .replays = 7, .seconds = 0.25};
  EXPECT_EQ(ReplayedText(explanation), "replayed 7 times from the entry of main, in 0.2 s");
  explanation.is_cut_short = true;
  EXPECT_EQ(ReplayedText(explanation),
            "replayed 7 times from the entry of main, in 0.2 s; then the time was over (--seconds)");
}

}  // namespace
}  // namespace recrash::explain
