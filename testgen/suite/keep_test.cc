#include <gmock/gmock.h>

#include "testgen/suite/steps.h"

namespace recrash {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TestReport ReportOf(uint32_t frames) {
  TestReport report;
  for (uint32_t i = 0; i < frames; ++i) {
    report.replay.frames.emplace_back().index = i;
    report.replay.entry_states.emplace_back().frame = i;
  }
  return report;
}

FrameVerdict Verdict3(uint32_t frame, Verdict verdict) {
  FrameVerdict result;
  result.index = frame;
  result.verdict = verdict;
  result.runs = 3;
  result.start.sealed = true;
  return result;
}

std::vector<uint32_t> Indices(const std::vector<ReplayFrame>& frames) {
  std::vector<uint32_t> indices;
  for (const ReplayFrame& frame : frames) indices.push_back(frame.index);
  return indices;
}

// A frame that was seen to reproduce once may be one that does so by chance.
TEST(Keep, TakesFramesThatReproducedInAllRuns) {
  const TestReport report = ReportOf(3);
  std::vector<FrameVerdict> verdicts = {Verdict3(0, Verdict::kReproduced), Verdict3(1, Verdict::kReturned),
                                        Verdict3(2, Verdict::kReproduced)};
  verdicts[2].runs = 1;
  EXPECT_THAT(Indices(FramesToKeep(report.replay.frames, verdicts, 3)), ElementsAre(0));
  EXPECT_THAT(Indices(FramesToKeep(report.replay.frames, verdicts, 1)), ElementsAre(0, 2));
}

TEST(Keep, TakesTheStartThatReproduced) {
  FrameVerdict verdict = Verdict3(0, Verdict::kReproduced);
  verdict.start = {.depth = 2, .from_entry = true, .sealed = true, .rewind = 1 << 3};
  const ReplayFrame frame = FramesToKeep(ReportOf(1).replay.frames, {verdict}, 3).at(0);
  EXPECT_EQ(frame.start.depth, 2);
  EXPECT_TRUE(frame.start.rewind);
  EXPECT_TRUE(frame.start.from_entry);
  EXPECT_TRUE(frame.start.sealed);
}

// An entry state may be as large as the program's memory.
TEST(Keep, LeavesOnlyTheEntryStatesThatTestsStartFrom) {
  TestReport report = ReportOf(3);
  std::vector<FrameVerdict> verdicts = {Verdict3(0, Verdict::kReproduced), Verdict3(1, Verdict::kReproduced),
                                        Verdict3(2, Verdict::kExited)};
  verdicts[1].start.from_entry = true;
  Keep(FramesToKeep(report.replay.frames, verdicts, 3), &report.replay);
  EXPECT_THAT(Indices(report.replay.frames), ElementsAre(0, 1));
  ASSERT_EQ(report.replay.entry_states.size(), 1u);
  EXPECT_EQ(report.replay.entry_states[0].frame, 1u);
  EXPECT_THAT(NotesOnKept(report, verdicts), IsEmpty());
}

TEST(Keep, SaysWhichTestsNeedFiles) {
  TestReport report = ReportOf(2);
  report.inputs = {{{}, "/var/db\x1b", 5 << 20, "", InputContent::kTooLarge, {}}};
  std::vector<FrameVerdict> verdicts = {Verdict3(0, Verdict::kReproduced), Verdict3(1, Verdict::kReproduced)};
  verdicts[1].start.sealed = false;
  Keep(FramesToKeep(report.replay.frames, verdicts, 3), &report.replay);
  EXPECT_THAT(NotesOnKept(report, verdicts), ElementsAre("tests of these frames need files of this machine: 1\n"
                                                         "/var/db\\x1b is not in the report: larger than 4 MiB"));
}

TEST(Keep, SaysHowManyFramesOfARecursionHaveATest) {
  TestReport report = ReportOf(100);
  std::vector<FrameVerdict> verdicts;
  for (uint32_t i = 0; i < 100; ++i) verdicts.push_back(Verdict3(i, Verdict::kReproduced));
  Keep(FramesToKeep(report.replay.frames, verdicts, 3), &report.replay);
  EXPECT_THAT(Indices(report.replay.frames), ElementsAre(0, 1, 98, 99));
  EXPECT_THAT(NotesOnKept(report, verdicts),
              ElementsAre("100 frames of a recursion reproduce: 4 have a test, at most 4 of each function"));
}

TEST(Keep, NamesUnstableFrames) {
  EXPECT_EQ(UnstableText({Verdict3(0, Verdict::kReproduced)}), "");
  EXPECT_THAT(UnstableText({Verdict3(1, Verdict::kUnstable), Verdict3(4, Verdict::kUnstable)}), HasSubstr(": 1, 4"));
}

}  // namespace
}  // namespace recrash
