// recrash verify and recrash reproduce.
#include <fmt/format.h>

#include <algorithm>

#include "agent/elf/elf_notes.h"
#include "integrations/cli/commands.h"
#include "integrations/cli/terminal.h"
#include "testgen/emit/emit.h"
#include "testgen/emit/text.h"
#include "testgen/suite/built_tests.h"
#include "testgen/suite/pipeline.h"
#include "testgen/verify/choose.h"

namespace recrash::cli {
namespace {

// Is `program` the very build that crashed? Without a build-id on either side it is taken for it.
bool IsBuildThatCrashed(const Report& report, const std::string& program) {
  const Module* recorded = report.program();
  const Result<std::string> build_id = ReadBuildId(program);
  return !recorded || !build_id || recorded->build_id.empty() || build_id->empty() || *build_id == recorded->build_id;
}

// The files of the kept tests, as they have to be so that they compile and are red.
class TestFiles {
 public:
  TestFiles(Suite* suite, Verification* result) : suite_(suite), result_(result) {
    tests_.report_name = suite->report_name;
  }

  Status Write() {
    tests_.frames = result_->kept;
    tests_.depths.clear();
    tests_.rewound.clear();
    tests_.needs_files.clear();
    tests_.entry_states.clear();
    for (const ReplayFrame& frame : suite_->report.replay->frames) {
      tests_.depths.push_back(frame.depth);
      tests_.rewound.push_back(frame.rewound);
      tests_.needs_files.push_back(!frame.self_contained);
      tests_.entry_states.push_back(frame.entry_state);
    }
    return WriteSuite(*suite_, tests_);
  }

  // When names of the user's types do not compile here: once more without them.
  Status Build() {
    Result<BuildOutcome> outcome = BuildTests(suite_->directory);
    if (!outcome) return outcome.error();
    if (outcome->ok) return Ok{};
    const std::string first_output = outcome->output;
    tests_.opaque_types = true;
    if (const Status status = Write(); !status) return status;
    outcome = BuildTests(suite_->directory);
    if (!outcome) return outcome.error();
    if (outcome->ok) return Ok{};
    // Nothing gained: the reason is elsewhere, and the readable text is the better one to leave.
    tests_.opaque_types = false;
    if (const Status status = Write(); !status) return status;
    return Error{Errc::kRefused, fmt::format("{}: needed the tests to build, found\n{}\n"
                                             "--no-build leaves them as source",
                                             suite_->directory.string(), first_output)};
  }

  // The frames whose built test is not red as recorded.
  Result<std::vector<uint32_t>> NotRed() {
    const auto outcomes = RunBuiltTests(suite_->directory, suite_->program);
    if (!outcomes) return outcomes.error();
    std::vector<uint32_t> wrong;
    for (const Frame& frame : suite_->backtrace.frames) {
      if (std::ranges::find(result_->kept, frame.index) == result_->kept.end()) continue;
      const auto found = outcomes->find(TestName(frame));
      if (found == outcomes->end() || !found->second.passed) wrong.push_back(frame.index);
    }
    return wrong;
  }

  // Text that a test gives itself lies elsewhere than the program's, and that may matter.
  Status LoadEverythingOf(const std::vector<uint32_t>& frames) {
    tests_.load_only = frames;
    if (const Status status = Write(); !status) return status;
    return Build();
  }

 private:
  Suite* suite_;
  Verification* result_;
  EmitOptions tests_;
};

void Drop(uint32_t index, Suite* suite, Verification* result) {
  std::erase(result->kept, index);
  std::erase_if(suite->report.replay->frames, [&](const ReplayFrame& frame) { return frame.index == index; });
  for (FrameVerdict& verdict : result->verdicts)
    if (verdict.index == index) {
      verdict.verdict = Verdict::kCannotReplay;
      verdict.note = "reproduced when verified, but its built test did not fail as recorded";
    }
  result->notes.push_back(fmt::format("frame {}: its built test did not fail as recorded; it was dropped", index));
}

Status BuildAndCheck(TestFiles* files, Suite* suite, Verification* result) {
  if (const Status status = files->Build(); !status) return status;
  Result<std::vector<uint32_t>> wrong = files->NotRed();
  if (!wrong) return wrong.error();
  if (wrong->empty()) return Ok{};
  if (const Status status = files->LoadEverythingOf(*wrong); !status) return status;
  wrong = files->NotRed();
  if (!wrong) return wrong.error();
  if (wrong->empty()) return Ok{};
  for (const uint32_t index : *wrong) Drop(index, suite, result);
  if (result->kept.empty()) return Ok{};
  if (const Status status = files->Write(); !status) return status;
  return files->Build();
}

// The frames that reproduced in `runs` replays, with what it took.
std::vector<ReplayFrame> Reproduced(const Report& report, const std::vector<FrameVerdict>& verdicts, uint32_t runs) {
  std::vector<ReplayFrame> frames;
  for (const FrameVerdict& verdict : verdicts) {
    if (verdict.verdict != Verdict::kReproduced || verdict.runs < runs) continue;
    const auto found = std::ranges::find(report.replay->frames, verdict.index, &ReplayFrame::index);
    if (found == report.replay->frames.end()) continue;
    frames.push_back(*found);
    frames.back().depth = verdict.depth;
    frames.back().rewound = verdict.rewound;
    frames.back().self_contained = verdict.self_contained;
    frames.back().entry_state = verdict.entry_state;
  }
  return frames;
}

// Which tests will only be red as long as certain files are there.
std::string NeededFilesText(const Report& report, const std::vector<ReplayFrame>& frames) {
  std::string numbers, names;
  for (const ReplayFrame& frame : frames)
    if (!frame.self_contained) numbers += fmt::format("{}{}", numbers.empty() ? "" : ", ", frame.index);
  if (numbers.empty()) return "";
  for (const Input& input : report.inputs)
    if (!input.held())
      names += fmt::format("\n{} is not in the report: {}", PrintableText(input.path), WhyNotHeld(input.content));
  return fmt::format("tests of these frames need files of this machine: {}{}", numbers, names);
}

void NoteUnstable(Verification* result) {
  std::string numbers;
  for (const FrameVerdict& verdict : result->verdicts) {
    if (verdict.verdict == Verdict::kUnstable)
      numbers += fmt::format("{}{}", numbers.empty() ? "" : ", ", verdict.index);
  }
  if (!numbers.empty())
    result->notes.push_back(fmt::format("these frames reproduce in some runs only, and have no test: {}", numbers));
}

// Beside the tests lies only what they need.
void KeepFrames(std::vector<ReplayFrame> frames, ReplayData* replay) {
  replay->frames = std::move(frames);
  std::erase_if(replay->entry_states, [&](const EntryState& state) {
    const auto frame = std::ranges::find(replay->frames, state.frame, &ReplayFrame::index);
    return frame == replay->frames.end() || !frame->entry_state;
  });
}

// What the tests' own report says of the frames: enough for the table, when the build that crashed is not there any
// more.
Backtrace FramesOfTests(const Report& report) {
  Backtrace backtrace;
  for (const ReplayFrame& replay : report.replay->frames) {
    Frame& frame = backtrace.frames.emplace_back();
    frame.index = replay.index;
    frame.function = replay.function;
    frame.linkage_name = replay.linkage_name;
    frame.file = replay.file;
    frame.line = replay.line;
    frame.own = true;
  }
  return backtrace;
}

std::vector<uint32_t> Indices(const std::vector<ReplayFrame>& frames) {
  std::vector<uint32_t> indices;
  for (const ReplayFrame& frame : frames) indices.push_back(frame.index);
  return indices;
}

}  // namespace

Result<Verification> Verify(Suite* suite, const VerifyOptionsGiven& options, bool candidates) {
  const bool same_build = IsBuildThatCrashed(suite->report, suite->program);
  Result<std::vector<FrameVerdict>> verdicts = ReplayFrames(suite, options, same_build);
  std::vector<ReplayFrame> frames;
  if (verdicts) frames = Reproduced(suite->report, *verdicts, options.runs);
  if (candidates && (frames.empty() || !same_build)) {
    if (const Status status = WriteCandidates(*suite); !status) return status.error();
  }
  if (!verdicts) return verdicts.error();

  Verification result;
  result.verdicts = *std::move(verdicts);
  result.kept = Indices(frames);
  NoteUnstable(&result);
  if (!same_build) {
    result.notes.push_back(
        fmt::format("{} is not the build that crashed: the tests are left as they are", suite->program));
    return result;
  }
  if (frames.empty()) return result;
  KeepFrames(ChooseTests(frames), &*suite->report.replay);
  result.kept = Indices(suite->report.replay->frames);
  const auto all = std::ranges::count(result.verdicts, Verdict::kReproduced, &FrameVerdict::verdict);
  if (result.kept.size() < static_cast<size_t>(all)) {
    result.notes.push_back(
        fmt::format("{} frames of a recursion reproduce: {} have a test, at most {} of each function", all,
                    result.kept.size(), kTestsOfAFunction));
  }
  if (std::string needed = NeededFilesText(suite->report, suite->report.replay->frames); !needed.empty())
    result.notes.push_back(std::move(needed));

  TestFiles files(suite, &result);
  if (const Status status = files.Write(); !status) return status.error();
  if (!options.build) return result;
  Progress progress("building and running the tests");
  progress.Show(0, result.kept.size());
  if (const Status status = BuildAndCheck(&files, suite, &result); !status) return status.error();
  return result;
}

int VerifyCommand(const VerifyArguments& arguments) {
  Result<Suite> suite = ReadSuite(arguments.directory, arguments.program);
  if (!suite) return Fail(suite.error());
  Result<Backtrace> backtrace = ReadBacktrace(suite->report, suite->symbols);
  if (!backtrace && IsBuildThatCrashed(suite->report, suite->program)) return Fail(backtrace.error());
  suite->backtrace = backtrace ? *std::move(backtrace) : FramesOfTests(suite->report);
  const Result<Verification> verification = Verify(&*suite, arguments.options);
  if (!verification) return Fail(verification.error());
  return ReportVerification(*suite, *verification, arguments.options);
}

int ReproduceCommand(const ReproduceArguments& arguments) {
  GenerateArguments generate = arguments.generate;
  generate.max_frames = arguments.verify.max_frames;
  Result<Suite> suite = MakeSuite(generate);
  if (!suite) return Fail(suite.error());
  if (arguments.rerun) Rerun(arguments.rerun_seconds, &*suite);
  const Result<Verification> verification = Verify(&*suite, arguments.verify, true);
  if (!verification) return Fail(verification.error());
  return ReportVerification(*suite, *verification, arguments.verify);
}

}  // namespace recrash::cli
