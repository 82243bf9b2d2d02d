#include "agent/client/record/policy.h"

#include <gtest/gtest.h>

namespace recrash::record {
namespace {

constexpr int64_t kCap = 10 * kMillisecond;
constexpr uint64_t kCost = 100000;
constexpr Purse kFull = {kCap, kCap, kCost, false};

// One function, entered in a time of its own.
class Watched {
 public:
  // Time goes on to its next entry, which comes to the recorder once the counter is through.
  void Enter(uint64_t after, bool nested = false, Purse purse = kFull) {
    now_ += after;
    ++entered_;
    if (left_-- > 0) return;
    ++reached_;
    const Interval interval = Policy::Reach(function_, left_, now_);
    if (policy_.WorthIt(function_, interval, nested, purse, now_)) ++wanted_;
    function_.skip = left_ = Policy::Skipped(function_, interval, now_);
  }
  void Forget() { wanted_ = 0; }

  LogFunction& function() { return function_; }
  Policy& policy() { return policy_; }
  uint64_t entered() const { return entered_; }
  uint64_t reached() const { return reached_; }
  int wanted() const { return wanted_; }
  bool rests() const { return now_ < function_.rest_until_ns; }

 private:
  Policy policy_ = {};
  LogFunction function_ = {};
  uint64_t now_ = kSecond;
  int32_t left_ = 0;
  uint64_t entered_ = 0, reached_ = 0;
  int wanted_ = 0;
};

TEST(NeededPermille, IsLessForWhatLivesLonger) {
  EXPECT_EQ(NeededPermille(0, kFull), 600) << "nothing is known of it";
  EXPECT_EQ(NeededPermille(kCost, kFull), 950);
  EXPECT_NEAR(static_cast<double>(NeededPermille(5 * kCost, kFull)), 527, 20) << "1 - log30(5)";
  EXPECT_NEAR(static_cast<double>(NeededPermille(30 * kCost, kFull)), 0, 20);
  EXPECT_NEAR(static_cast<double>(NeededPermille(900 * kCost, kFull)), -1000, 20) << "may overdraw";
  EXPECT_EQ(NeededPermille(1000 * kSecond, kFull), -2000);
  EXPECT_LT(NeededPermille(kCost, {kCap, kCap, kCost, true}), -2000) << "what was begun is finished";
}

// Six hundred thousand times a second, for ten seconds: few of the six million come to the recorder, all are counted.
TEST(Policy, LetsAHotFunctionRest) {
  Watched hot;
  for (int i = 0; i < 6000000; ++i) hot.Enter(1667);
  EXPECT_TRUE(hot.rests());
  EXPECT_LT(hot.reached(), 300u);
  EXPECT_LE(hot.entered() - hot.function().entries, static_cast<uint64_t>(Policy::kMostSkipped) + 1);
}

TEST(Policy, RestsTwiceAsLongEachTime) {
  Watched hot;
  uint64_t last = 0;
  for (uint64_t rest = Policy::kFirstRest; rest <= 8 * Policy::kFirstRest; rest *= 2) {
    while (!hot.rests()) hot.Enter(1667);
    const uint64_t until = hot.function().rest_until_ns;
    EXPECT_GT(until, last);
    while (hot.rests()) hot.Enter(1667);
    EXPECT_GE(hot.function().rest_until_ns, until);
    EXPECT_EQ(hot.function().back_off, 1 + __builtin_ctzll(rest / Policy::kFirstRest));
    last = until;
  }
}

TEST(Policy, ComesToTheRecorderAgainWhenItHasBecomeSlow) {
  Watched function;
  for (int i = 0; i < 100000; ++i) function.Enter(1667);
  ASSERT_TRUE(function.rests());
  function.function().skip = 0;  // as a sweep does after the rest
  Watched slow = function;
  slow.Enter(20 * kSecond);
  for (int i = 0; i < Policy::kMostSkipped; ++i) slow.Enter(kSecond);
  slow.Forget();
  for (int i = 0; i < 10; ++i) slow.Enter(kSecond);
  EXPECT_EQ(slow.wanted(), 10);
  EXPECT_EQ(slow.function().back_off, 0);
}

// A recursion is entered soon again, and each of its calls lives.
TEST(Policy, GivesARecursionMoreTime) {
  Watched recursion, loop;
  for (int i = 0; i < 20; ++i) recursion.Enter(10000, /*nested=*/true);
  for (int i = 0; i < 20; ++i) loop.Enter(10000);
  EXPECT_FALSE(recursion.rests());
  EXPECT_TRUE(loop.rests());
}

TEST(Policy, LetsWhatIsSoonOverRest) {
  Watched brief;
  Policy::Learn(brief.function(), kCost);
  for (int i = 0; i < 8; ++i) {
    EXPECT_FALSE(brief.rests());
    brief.Enter(kSecond / 10);
  }
  EXPECT_TRUE(brief.rests());
  EXPECT_EQ(brief.wanted(), 0);
}

TEST(Policy, SpendsTheLastOnWhatLivesLong) {
  Watched unknown, longer;
  Policy::Learn(longer.function(), 100 * kCost);
  const Purse half = {kCap / 2, kCap, kCost, false}, overdrawn = {-kCap / 4, kCap, kCost, false};
  unknown.Enter(kSecond, false, half);
  longer.Enter(kSecond, false, half);
  EXPECT_EQ(unknown.wanted(), 0);
  EXPECT_EQ(longer.wanted(), 1);
  longer.Enter(kSecond, false, overdrawn);
  EXPECT_EQ(longer.wanted(), 2);
}

TEST(Policy, LetsFewerComeWhereEntriesTakeTheBudget) {
  Policy policy = {};
  EXPECT_EQ(policy.most_rate(), 300u);
  for (int i = 0; i < 10; ++i) policy.Adjust(60, 100);
  EXPECT_EQ(policy.most_rate(), 4u);
  for (int i = 0; i < 10; ++i) policy.Adjust(20, 100);
  EXPECT_EQ(policy.most_rate(), 300u);
}

TEST(Policy, LearnsTheShorterTimesSooner) {
  LogFunction function = {};
  Policy::Learn(function, 1000);
  EXPECT_EQ(function.inclusive_ns, 1000u);
  Policy::Learn(function, 0);
  EXPECT_EQ(function.inclusive_ns, 500u);
  Policy::Learn(function, 1000);
  EXPECT_EQ(function.inclusive_ns, 600u);
  Policy::Learn(function, Interval{100, 10000});
  EXPECT_EQ(function.inclusive_ns, 350u) << "a hundred took no longer than that";
}

// Second chance: a function alone spends half of the budget at most, and less when it is soon over.
TEST(Policy, DelaysTheNextSnapshotOfAFunction) {
  LogFunction function = {};
  EXPECT_TRUE(Policy::IsDue(function, 0));
  Policy::Delay(function, kSecond, kMillisecond, 1);
  EXPECT_FALSE(Policy::IsDue(function, kSecond + 199 * kMillisecond));
  EXPECT_TRUE(Policy::IsDue(function, kSecond + 200 * kMillisecond));
  Policy::Learn(function, kMillisecond);
  for (int i = 0; i < 8; ++i) Policy::Delay(function, kSecond, kMillisecond, 1);
  EXPECT_FALSE(Policy::IsDue(function, kSecond + 399 * kMillisecond));
  EXPECT_TRUE(Policy::IsDue(function, kSecond + 400 * kMillisecond));
}

}  // namespace
}  // namespace recrash::record
