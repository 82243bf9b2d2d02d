#include "testgen/verify/verify.h"

#include <algorithm>
#include <sstream>

#include "testgen/replay/host/input_check.h"
#include "testgen/verify/choose.h"
#include "testgen/verify/replays.h"
#include "testgen/verify/starts.h"

namespace recrash {
namespace {

constexpr size_t kMostOutcomes = 3;  // of an unstable frame that are named

// What was read may be why it ended so, or why it will not end so elsewhere.
void NoteInputs(const std::map<size_t, std::string>& problems, FrameVerdict* verdict) {
  if (!problems.empty() && verdict->note == "returned") verdict->note.clear();  // the verdict says so
  for (const auto& [input, problem] : problems) verdict->note += (verdict->note.empty() ? "" : "; ") + problem;
}

// How often a frame reproduced, and what else came of it.
struct Tally {
  uint32_t reproduced = 1;
  std::vector<std::string> others;

  void Add(const Try& outcome) {
    if (outcome.verdict == Verdict::kReproduced) {
      ++reproduced;
    } else if (std::ranges::find(others, outcome.note) == others.end()) {
      others.push_back(outcome.note);
    }
  }

  std::string Text(uint32_t runs) const {
    std::string text = "reproduced in " + std::to_string(reproduced) + " of " + std::to_string(runs) + " runs; ";
    for (size_t i = 0; i < std::min(others.size(), kMostOutcomes); ++i) text += (i ? ", or " : "else ") + others[i];
    return text + (others.size() > kMostOutcomes ? ", and more" : "");
  }
};

// One verification: the frames, what was tried of each, the verdicts.
class Verification {
 public:
  Verification(const TestReport& report, const VerifyOptions& options,
               const std::function<void(size_t, size_t)>& progress);

  Result<std::vector<FrameVerdict>> Run();

 private:
  const ReplayFrame& Frame(size_t i) const { return report_.replay.frames[frames_[i]]; }
  std::optional<Start> Next(size_t i, const Try* last);
  FrameVerdict VerdictOf(size_t i) const;
  std::vector<size_t> ToConfirm() const;
  Status Confirm(Replays* replays);
  void ShowProgress(size_t done) const {
    if (progress_) progress_(done, all_);
  }

  const TestReport& report_;
  const VerifyOptions& options_;
  const std::function<void(size_t, size_t)>& progress_;
  std::vector<uint32_t> frames_;  // positions in the report's
  std::vector<std::vector<Try>> tries_;
  SlowFunctions slow_;
  std::vector<FrameVerdict> verdicts_;
  size_t done_ = 0, all_ = 0;
};

Verification::Verification(const TestReport& report, const VerifyOptions& options,
                           const std::function<void(size_t, size_t)>& progress)
    : report_(report), options_(options), progress_(progress) {
  const size_t frames = report.replay.frames.size();
  for (const uint32_t frame : ChooseFrames(frames, options.max_frames)) {
    const std::vector<uint32_t>& only = options.only;
    const bool wanted = only.empty() || std::ranges::find(only, report.replay.frames[frame].index) != only.end();
    if (wanted) frames_.push_back(frame);
  }
  tries_.resize(frames_.size());
  all_ = frames_.size();
}

std::optional<Start> Verification::Next(size_t i, const Try* last) {
  if (!last && slow_.Has(Frame(i).function_address())) {
    std::ostringstream note;
    note << "not tried: " << SlowFunctions::kMostTimedOut << " frames of this function took longer than "
         << options_.seconds_per_frame << " s";
    tries_[i].push_back({.start = {.sealed = true}, .verdict = Verdict::kTimedOut, .note = note.str()});
    ShowProgress(++done_);
    return std::nullopt;
  }
  if (last) tries_[i].push_back(*last);
  Choices choices = ChoicesOf(report_.replay, Frame(i));
  choices.only_from_entry = options_.from_entry;
  if (const std::optional<Start> next = NextStart(choices, tries_[i])) return next;
  slow_.Note(Frame(i).function_address(), Standing(tries_[i]).verdict);
  ShowProgress(++done_);
  return std::nullopt;
}

FrameVerdict Verification::VerdictOf(size_t i) const {
  const Try& outcome = Standing(tries_[i]);
  FrameVerdict verdict;
  verdict.index = Frame(i).index;
  verdict.verdict = outcome.verdict;
  verdict.start = outcome.start;
  verdict.note = outcome.note;
  for (const Try& one : tries_[i]) verdict.seconds += one.seconds;
  const EntryState* state = report_.replay.FindEntryState(verdict.index);
  if (verdict.start.from_entry && state && state->origin == Origin::kDerived) verdict.derived_from = state->outer;
  return verdict;
}

// The reproduced frames that would get a test, by position: of a deep recursion it is few.
std::vector<size_t> Verification::ToConfirm() const {
  std::vector<ReplayFrame> reproduced;
  for (size_t i = 0; i < verdicts_.size(); ++i)
    if (verdicts_[i].verdict == Verdict::kReproduced) reproduced.push_back(Frame(i));
  std::vector<size_t> positions;
  for (const ReplayFrame& test : ChooseTests(reproduced)) {
    const auto found = std::ranges::find(verdicts_, test.index, &FrameVerdict::index);
    positions.push_back(static_cast<size_t>(found - verdicts_.begin()));
  }
  return positions;
}

// Replays what would get a test until it stands on `runs` replays, of which all have to reproduce.
Status Verification::Confirm(Replays* replays) {
  const std::vector<size_t> positions = ToConfirm();
  if (positions.empty()) return Ok{};
  std::vector<uint32_t> frames;
  for (const size_t i : positions) frames.push_back(frames_[i]);
  std::vector<Tally> tallies(frames.size());
  all_ += (options_.runs - 1) * frames.size();
  const auto once = [&](size_t i, const Try* outcome) -> std::optional<Start> {
    FrameVerdict& verdict = verdicts_[positions[i]];
    if (!outcome) return verdict.start;
    tallies[i].Add(*outcome);
    ++verdict.runs;
    verdict.seconds += outcome->seconds;
    ShowProgress(++done_);
    return std::nullopt;
  };
  for (uint32_t run = 1; run < options_.runs; ++run)
    if (const Status status = replays->Run(frames, once); !status) return status;
  for (size_t i = 0; i < frames.size(); ++i) {
    if (tallies[i].others.empty()) continue;
    verdicts_[positions[i]].verdict = Verdict::kUnstable;
    verdicts_[positions[i]].note = tallies[i].Text(options_.runs);
  }
  return Ok{};
}

Result<std::vector<FrameVerdict>> Verification::Run() {
  Result<Replays> replays = Replays::Prepare(report_, options_);
  if (!replays) return replays.error();
  const Status replayed = replays->Run(frames_, [&](size_t i, const Try* last) { return Next(i, last); });
  if (!replayed) return replayed.error();
  for (size_t i = 0; i < frames_.size(); ++i) verdicts_.push_back(VerdictOf(i));
  const auto is_sealed = [](const FrameVerdict& verdict) { return verdict.start.sealed; };
  if (!std::ranges::all_of(verdicts_, is_sealed)) {
    const std::map<size_t, std::string> problems = InputProblems(report_);
    for (FrameVerdict& verdict : verdicts_)
      if (!is_sealed(verdict)) NoteInputs(problems, &verdict);
  }
  if (const Status confirmed = Confirm(&*replays); !confirmed) return confirmed.error();
  return std::move(verdicts_);
}

}  // namespace

const char* VerdictText(Verdict verdict) {
  constexpr const char* kTexts[] = {"cannot replay", "reproduced", "different failure", "returned",
                                    "exited",        "timed out",  "unstable",          "caught",
                                    "waited",        "undecided",  "undecided"};
  static_assert(std::size(kTexts) == static_cast<size_t>(Verdict::kHarmless) + 1);
  // It comes from a process that may have overwritten it.
  const auto number = static_cast<size_t>(verdict);
  return number < std::size(kTexts) ? kTexts[number] : kTexts[0];
}

namespace {

std::vector<uint32_t> IndicesOf(const TestReport& report, const VerifyOptions& options, bool needs_twin) {
  std::vector<uint32_t> indices;
  for (const ReplayFrame& frame : report.replay.frames) {
    const bool wanted = options.only.empty() || std::ranges::find(options.only, frame.index) != options.only.end();
    if (wanted && frame.needs_twin() == needs_twin) indices.push_back(frame.index);
  }
  return indices;
}

// Where the twin cannot be replayed, the frames say so.
std::vector<FrameVerdict> VerifyInTwin(const TestReport& report, VerifyOptions options,
                                       const std::function<void(size_t, size_t)>& progress) {
  options.program = options.twin;
  Result<std::vector<FrameVerdict>> verdicts = Verification(report, options, progress).Run();
  if (verdicts) return *std::move(verdicts);
  std::vector<FrameVerdict> none;
  for (const uint32_t index : options.only) {
    FrameVerdict& verdict = none.emplace_back();
    verdict.index = index;
    verdict.note = verdicts.error().message;
  }
  return none;
}

}  // namespace

Result<std::vector<FrameVerdict>> VerifyFrames(const TestReport& report, const VerifyOptions& options,
                                               const std::function<void(size_t, size_t)>& progress) {
  VerifyOptions in_twin = options;
  in_twin.only = IndicesOf(report, options, true);
  if (options.twin.empty() || in_twin.only.empty()) return Verification(report, options, progress).Run();
  std::vector<FrameVerdict> verdicts = VerifyInTwin(report, in_twin, progress);
  VerifyOptions rest = options;
  rest.only = IndicesOf(report, options, false);
  if (rest.only.empty()) return verdicts;
  const Result<std::vector<FrameVerdict>> others = Verification(report, rest, progress).Run();
  if (!others) return others.error();
  verdicts.insert(verdicts.end(), others->begin(), others->end());
  std::ranges::sort(verdicts, {}, &FrameVerdict::index);
  return verdicts;
}

}  // namespace recrash
