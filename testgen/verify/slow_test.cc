// Frames that run for ever in a replay: a time limit each, but not for each of a deep recursion's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testgen/verify/testing_replayed_program.h"

namespace recrash {
namespace {

// Each level waits for a word that the innermost has consumed by the time of the crash.
constexpr char kWaiting[] = R"(
volatile int words = 41;
__attribute__((noinline)) int Fail(int* where) { return *where; }
__attribute__((noinline)) int Descend(int left, int* where) {
  while (words == 0) {}
  --words;
  return (left ? Descend(left - 1, where) : Fail(where)) + left;
}
int main(int argc, char**) { return Descend(40, argc > 5 ? &argc : nullptr); }
)";

TEST(Slow, AFunctionThatTimesOutIsNotTriedForEver) {
  const ReplayedProgram program(kWaiting, "-O1 -g -fno-optimize-sibling-calls");
  VerifyOptions options;
  options.seconds_per_frame = 0.3;
  options.jobs = 2;
  const Result<std::vector<FrameVerdict>> verdicts = program.VerifyAll(options);
  ASSERT_TRUE(verdicts) << verdicts.error().message;
  int timed_out = 0;
  int not_tried = 0;
  for (const FrameVerdict& verdict : *verdicts) {
    if (!HadNoEnd(verdict.verdict)) continue;
    ++timed_out;
    if (verdict.note == "not tried: 3 frames of this function took longer than 0.3 s") ++not_tried;
  }
  EXPECT_GE(timed_out, 41) << program.text();
  // Tried are main, three of Descend, a fourth that the second process is at when the third ends, and one in the queue.
  EXPECT_GE(not_tried, timed_out - 6) << program.text();
  EXPECT_EQ(program.Verify("Fail", options).verdict, Verdict::kReproduced);
}

}  // namespace
}  // namespace recrash
