#include "agent/client/snapshot/budget.h"

#include <gtest/gtest.h>

#include <memory>

namespace recrash::snapshot {
namespace {

constexpr uint64_t kMillisecond = 1000000;

TEST(CpuBudget, IsOneSecondsPartAtMost) {
  CpuBudget budget = {};
  EXPECT_TRUE(budget.HasSome(0, 1));
  budget.Spend(9 * kMillisecond);
  EXPECT_TRUE(budget.HasSome(0, 1));
  budget.Spend(2 * kMillisecond);
  EXPECT_FALSE(budget.HasSome(0, 1)) << "overdrawn by one";
  EXPECT_FALSE(budget.HasSome(kSecond / 10, 1));
  EXPECT_TRUE(budget.HasSome(kSecond / 10 + kMillisecond, 1));
  EXPECT_TRUE(budget.HasSome(1000 * kSecond, 1));
  budget.Spend(11 * kMillisecond);
  EXPECT_FALSE(budget.HasSome(1000 * kSecond, 1)) << "what was not used for long is not saved up";
}

TEST(CpuBudget, IsHalfFullUntilHalfIsSpent) {
  CpuBudget budget = {};
  EXPECT_FALSE(budget.IsHalfFull(1)) << "before anybody asked it is not known";
  EXPECT_TRUE(budget.HasSome(0, 1));
  EXPECT_TRUE(budget.IsHalfFull(1));
  budget.Spend(6 * kMillisecond);
  EXPECT_FALSE(budget.IsHalfFull(1));
  EXPECT_TRUE(budget.HasSome(kSecond / 5, 1));
  EXPECT_TRUE(budget.IsHalfFull(1));
}

TEST(CpuBudget, IsNoneWhereAllMayBeTaken) {
  CpuBudget budget = {};
  budget.Spend(1000 * kSecond);
  EXPECT_TRUE(budget.HasSome(1, 100));
}

TEST(FunctionRates, LeaveAFunctionHalfOfTheBudget) {
  const auto rates = std::make_unique<FunctionRates>();
  EXPECT_TRUE(rates->IsDue(0x401000, 0));
  rates->Delay(0x401000, kSecond, kMillisecond, 1);
  EXPECT_FALSE(rates->IsDue(0x401000, kSecond + 199 * kMillisecond));
  EXPECT_TRUE(rates->IsDue(0x401000, kSecond + 200 * kMillisecond));
  EXPECT_TRUE(rates->IsDue(0x402000, kSecond)) << "another function";
  rates->Delay(0x402000, kSecond, kMillisecond, 100);
  EXPECT_TRUE(rates->IsDue(0x402000, kSecond));
}

}  // namespace
}  // namespace recrash::snapshot
