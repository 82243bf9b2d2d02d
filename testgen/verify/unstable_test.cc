// Frames that reproduce in some replays only: what they depend on is drawn anew by each replay, or by each start.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "testgen/verify/testing_replayed_program.h"

namespace recrash {
namespace {

using ::testing::MatchesRegex;

// Steps deep, then follows a null pointer: always when it has come there by 30 steps and a Bottom, as in the run that
// crashed and in a replay of Bottom; else when a bit of `draw` is set. A replay of a Step has counted its own steps on
// top of those, so that the bit is another one for each frame.
std::string Drawing(const std::string& draw) {
  return R"(
#include <cstdint>
#include <cstdio>
#include <sys/auxv.h>
#include <x86intrin.h>
uint64_t steps = 0;
__attribute__((noinline)) int Bottom(int* where) {
  uint64_t bits = ()" +
         draw + R"() * 0x9e3779b97f4a7c15;
  bits = (bits ^ bits >> 29) * 0xbf58476d1ce4e5b9;
  return steps <= 30 || bits >> 40 & 1 ? *where : 0;
}
__attribute__((noinline)) int Step(int left, int* where) {
  ++steps;
  return (left ? Step(left - 1, where) : Bottom(where)) + left;
}
int main(int argc, char**) { std::printf("%d\n", Step(29, argc > 5 ? &argc : nullptr)); }
)";
}

struct Counts {
  size_t reproduced = 0, unstable = 0;
};

Counts Count(const ReplayedProgram& program, const VerifyOptions& options) {
  const Result<std::vector<FrameVerdict>> verdicts = program.VerifyAll(options);
  EXPECT_TRUE(verdicts) << verdicts.error().message;
  Counts counts;
  if (!verdicts) return counts;
  for (const FrameVerdict& verdict : *verdicts) {
    if (verdict.verdict == Verdict::kReproduced) {
      ++counts.reproduced;
      EXPECT_EQ(verdict.runs, options.runs) << verdict.index;
    }
    if (verdict.verdict != Verdict::kUnstable) continue;
    ++counts.unstable;
    EXPECT_THAT(verdict.note, MatchesRegex("reproduced in [12] of 3 runs; else returned"));
  }
  return counts;
}

// Of 31 frames with one bit each, none is unstable in three runs once in two million times: (1 - 3/8)^31.
TEST(Unstable, AFrameThatAsksTheClockIsMarked) {
  const ReplayedProgram program(Drawing("__rdtsc()"), "-O1 -g -fno-optimize-sibling-calls");
  EXPECT_GT(Count(program, {}).unstable, 0u);
  const FrameVerdict bottom = program.Verify("Bottom");
  EXPECT_EQ(bottom.verdict, Verdict::kReproduced) << program.text();
  EXPECT_EQ(bottom.runs, 3u);
}

// The replays of one start see the same addresses: each run has to be a start of its own.
TEST(Unstable, AFrameThatDependsOnAnAddressOfTheKernelsIsMarked) {
  const ReplayedProgram program(Drawing("getauxval(AT_SYSINFO_EHDR) + steps"), "-O1 -g -fno-optimize-sibling-calls");
  EXPECT_GT(Count(program, {}).unstable, 0u);
}

TEST(Unstable, OneRunTakesWhatReproducesOnce) {
  const ReplayedProgram program(Drawing("__rdtsc()"), "-O1 -g -fno-optimize-sibling-calls");
  VerifyOptions options;
  options.runs = 1;
  const Counts counts = Count(program, options);
  EXPECT_EQ(counts.unstable, 0u);
  EXPECT_GT(counts.reproduced, 1u);  // Bottom, and about half of the others
}

// What a frame took the first time (here its streams rewound) is what it is given again.
TEST(Unstable, AStableFrameIsReplayedJustAsItReproduced) {
  ReplayedProgram program(R"(
#include <fstream>
#include <sstream>
#include <cstdio>
#include <string>
int total = 0;
__attribute__((noinline)) int Use(const int* where, int sum) { return where[sum]; }
__attribute__((noinline)) int Sum(std::istream& in) {
  int number = 0, sum = 0;
  while (in >> number) sum += number;
  return sum > 5 ? Use(nullptr, sum) : sum;
}
int main() {
  std::istringstream in("1 2 3 4 5");
  std::printf("%d\n", total += Sum(in));
}
)");
  const FrameVerdict verdict = program.Verify("Sum");
  EXPECT_EQ(verdict.verdict, Verdict::kReproduced) << program.text();
  EXPECT_TRUE(verdict.start.rewind) << program.text();
  EXPECT_EQ(verdict.runs, 3u);
}

// Of a deep recursion only what gets a test is replayed again.
TEST(Unstable, OfADeepStackOnlyTheFramesThatGetATestAreConfirmed) {
  const ReplayedProgram program(R"(
#include <cstdio>
__attribute__((noinline)) int Step(int left, int* where) { return (left ? Step(left - 1, where) : *where) + left; }
int main(int argc, char**) { std::printf("%d\n", Step(99, argc > 5 ? &argc : nullptr)); }
)",
                                "-O1 -g -fno-optimize-sibling-calls");
  const Result<std::vector<FrameVerdict>> verdicts = program.VerifyAll();
  ASSERT_TRUE(verdicts) << verdicts.error().message;
  EXPECT_GT(std::ranges::count(*verdicts, Verdict::kReproduced, &FrameVerdict::verdict), 90);
  // Four of Step, and main.
  EXPECT_EQ(std::ranges::count(*verdicts, 3u, &FrameVerdict::runs), 5);
}

}  // namespace
}  // namespace recrash
