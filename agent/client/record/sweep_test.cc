#include "agent/client/record/sweep.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <vector>

namespace recrash::record {
namespace {

// Counters whose entries lead to their own code.
std::set<uint64_t> g_out;
bool g_refuses;

uint64_t Switch(const uint64_t* counters, size_t count, bool patched, bool) {
  uint64_t done = 0;
  for (size_t i = 0; i < count && !g_refuses; ++i) {
    EXPECT_TRUE(i == 0 || counters[i - 1] < counters[i]);
    if (patched)
      g_out.erase(counters[i]);
    else
      g_out.insert(counters[i]);
    done |= uint64_t{1} << i;
  }
  return done;
}

constexpr uint32_t kFunctions = 200;
constexpr uint64_t kPeriod = kSecond / 4;

class Sweeps : public testing::Test {
 protected:
  Sweeps() : bytes_(new uint8_t[VersionLog::SizeFor(1 << 20, kFunctions)]()), counters_(kFunctions) {
    log_.Begin(bytes_.get(), 1 << 20, kFunctions);
    g_out.clear();
    g_refuses = false;
    for (uint32_t i = 0; i < kFunctions; ++i) function(i).counter = reinterpret_cast<uint64_t>(&counters_[i]);
    Run();
  }

  LogFunction& function(uint32_t i) { return *log_.FunctionAt(0x401000 + 16 * i); }
  bool is_out(uint32_t i) const { return g_out.contains(reinterpret_cast<uint64_t>(&counters_[i])); }
  uint64_t Run(bool alone = true) { return sweep_.Run(log_, now_ += kPeriod, 1, alone, Switch); }

  // It rests, and was entered so often since; its stub alone knows.
  void RestAndEnter(uint32_t i, int32_t entries, uint64_t until) {
    function(i).rest_until_ns = until;
    function(i).skip += Policy::kMostSkipped * 10;
    counters_[i] = function(i).skip - entries;
  }

  std::unique_ptr<uint8_t[]> bytes_;
  VersionLog log_ = {};
  std::vector<int32_t> counters_;
  Sweep sweep_ = {};
  uint64_t now_ = kSecond;
};

TEST_F(Sweeps, ArmWhatHasRested) {
  RestAndEnter(1, 100, now_ + kPeriod);
  RestAndEnter(2, 100, now_ + 10 * kPeriod);
  EXPECT_EQ(Run(), 200 * kStubCost);
  EXPECT_EQ(counters_[1], 0);
  EXPECT_EQ(function(1).entries, 100u);
  EXPECT_GT(counters_[2], 0);
  EXPECT_EQ(Run(), 0u) << "each is counted once";
}

TEST_F(Sweeps, LeadBackWhatComesSoOftenThatItsStubCosts) {
  RestAndEnter(1, 500000, now_ + 10 * kPeriod);
  RestAndEnter(2, 10, now_ + 10 * kPeriod);
  const uint64_t unseen = function(1).entries - function(1).reached;
  Run();
  EXPECT_TRUE(is_out(1));
  EXPECT_FALSE(is_out(2));
  EXPECT_GT(function(1).entries + 500000 - function(1).reached, unseen + 500000) << "its frames are not known any more";
  // Again there after two seconds; on probation, it goes at once.
  const uint64_t until = function(1).rest_until_ns;
  EXPECT_GE(until, now_ + 2 * kSecond);
  while (now_ < until) Run();
  EXPECT_FALSE(is_out(1));
  EXPECT_EQ(counters_[1], 0);
  EXPECT_EQ(function(1).place, Place::kProbation);
  RestAndEnter(1, 100, now_ + 10 * kPeriod);
  RestAndEnter(2, 20, now_ + 10 * kPeriod);
  sweep_.Note(function(1), now_);
  EXPECT_TRUE(sweep_.IsDue(now_ + kMillisecond));
  Run();
  EXPECT_TRUE(is_out(1));
}

TEST_F(Sweeps, LeaveStubsThatCostLittle) {
  RestAndEnter(1, 70000, now_ + 10 * kPeriod);
  RestAndEnter(2, 1, now_ + 10 * kPeriod);
  Run();
  EXPECT_TRUE(g_out.empty()) << "280,000 entries a second are 0.11 %";
}

// Somebody has to come by, or nothing would ever be armed again.
TEST_F(Sweeps, LeaveOneWhereThereIsNoOther) {
  RestAndEnter(1, 150000, now_ + 10 * kPeriod);
  Run();
  EXPECT_FALSE(is_out(1)) << "600,000 a second";
  RestAndEnter(2, 150000, now_ + 10 * kPeriod);
  RestAndEnter(1, 300000, now_ + 10 * kPeriod);
  Run();
  EXPECT_NE(is_out(1), is_out(2));
}

TEST_F(Sweeps, ChangeSixtyFourAtOnce) {
  for (uint32_t i = 0; i < kFunctions; ++i) RestAndEnter(i, 100000, now_ + 100 * kPeriod);
  Run();
  EXPECT_EQ(g_out.size(), 64u);
  EXPECT_TRUE(sweep_.IsDue(now_ + 8 * kMillisecond)) << "there is more to do";
}

TEST_F(Sweeps, AskAgainWhereCodeCannotBeChangedNow) {
  RestAndEnter(1, 500000, now_ + 10 * kPeriod);
  RestAndEnter(2, 10, now_ + 10 * kPeriod);
  g_refuses = true;
  Run();
  EXPECT_EQ(function(1).place, Place::kStub);
  g_refuses = false;
  RestAndEnter(1, 1000000, now_ + 10 * kPeriod);
  RestAndEnter(2, 20, now_ + 10 * kPeriod);
  Run();
  EXPECT_EQ(function(1).place, Place::kOut);
}

}  // namespace
}  // namespace recrash::record
