#include "agent/client/record/budget.h"

#include <gtest/gtest.h>

namespace recrash::record {
namespace {

bool HasSome(CpuBudget& budget, uint64_t used) {
  budget.Fill(used, 1);
  return budget.level() > 0;
}

TEST(CpuBudget, IsOneSecondsPartAtMost) {
  CpuBudget budget = {};
  EXPECT_TRUE(HasSome(budget, 0));
  budget.Spend(9 * kMillisecond);
  EXPECT_TRUE(HasSome(budget, 0));
  budget.Spend(2 * kMillisecond);
  EXPECT_FALSE(HasSome(budget, 0)) << "overdrawn by one";
  EXPECT_FALSE(HasSome(budget, kSecond / 10));
  EXPECT_TRUE(HasSome(budget, kSecond / 10 + kMillisecond));
  EXPECT_TRUE(HasSome(budget, 1000 * kSecond));
  budget.Spend(11 * kMillisecond);
  EXPECT_FALSE(HasSome(budget, 1000 * kSecond)) << "what was not used for long is not saved up";
}

TEST(CpuBudget, IsHalfFullUntilHalfIsSpent) {
  CpuBudget budget = {};
  EXPECT_FALSE(budget.IsHalfFull()) << "before anybody asked it is not known";
  EXPECT_TRUE(HasSome(budget, 0));
  EXPECT_TRUE(budget.IsHalfFull());
  budget.Spend(6 * kMillisecond);
  EXPECT_FALSE(budget.IsHalfFull());
  EXPECT_TRUE(HasSome(budget, kSecond / 5));
  EXPECT_TRUE(budget.IsHalfFull());
}

TEST(CpuBudget, IsOverdrawnThreeTimesAtMost) {
  CpuBudget budget = {};
  EXPECT_TRUE(HasSome(budget, 0));
  budget.Spend(100 * kSecond);
  EXPECT_FALSE(HasSome(budget, 3 * kSecond));
  EXPECT_TRUE(HasSome(budget, 3 * kSecond + kSecond / 10));
}

}  // namespace
}  // namespace recrash::record
