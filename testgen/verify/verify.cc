#include "testgen/verify/verify.h"

#include <algorithm>

#include "testgen/replay/plan/plan.h"
#include "testgen/verify/choose.h"
#include "testgen/verify/replays.h"

namespace recrash {
namespace {

constexpr size_t kMostOutcomes = 3;  // of an unstable frame that are named

// The reproduced frames that would get a test, by position in `verdicts`: of a deep recursion it is few.
std::vector<size_t> ToConfirm(const Report& report, const std::vector<plan::Request>& requests,
                              const std::vector<FrameVerdict>& verdicts) {
  std::vector<ReplayFrame> reproduced;
  for (size_t i = 0; i < verdicts.size(); ++i) {
    if (verdicts[i].verdict == Verdict::kReproduced) reproduced.push_back(report.replay->frames[requests[i].frame]);
  }
  std::vector<size_t> positions;
  for (const ReplayFrame& test : ChooseTests(reproduced)) {
    const auto found = std::ranges::find(verdicts, test.index, &FrameVerdict::index);
    positions.push_back(static_cast<size_t>(found - verdicts.begin()));
  }
  return positions;
}

plan::Request Again(const plan::Request& request, const FrameVerdict& verdict) {
  plan::Request again{};
  again.frame = request.frame;
  again.again = 1;
  again.start = verdict.start;
  return again;
}

// How often a frame reproduced, and what else came of it.
struct Tally {
  uint32_t reproduced = 1;
  std::vector<std::string> others;

  void Add(const FrameVerdict& verdict) {
    if (verdict.verdict == Verdict::kReproduced) {
      ++reproduced;
    } else if (std::ranges::find(others, verdict.note) == others.end()) {
      others.push_back(verdict.note);
    }
  }

  std::string Text(uint32_t runs) const {
    std::string text = "reproduced in " + std::to_string(reproduced) + " of " + std::to_string(runs) + " runs; ";
    for (size_t i = 0; i < std::min(others.size(), kMostOutcomes); ++i) text += (i ? ", or " : "else ") + others[i];
    return text + (others.size() > kMostOutcomes ? ", and more" : "");
  }
};

// Progress over several runs.
class Counter {
 public:
  Counter(const std::function<void(size_t, size_t)>& progress, size_t all) : progress_(progress), all_(all) {}
  void Expect(size_t more) { before_ = all_, all_ += more; }
  void Passed(size_t done) { before_ += done; }
  void Show(size_t done) const {
    if (progress_) progress_(before_ + done, all_);
  }

 private:
  const std::function<void(size_t, size_t)>& progress_;
  size_t before_ = 0;
  size_t all_;
};

// Replays what would get a test until it stands on `runs` replays, of which all have to reproduce.
Status Confirm(const Report& report, const std::vector<plan::Request>& requests, uint32_t runs, Replays* replays,
               Counter* counter, std::vector<FrameVerdict>* verdicts) {
  const std::vector<size_t> positions = ToConfirm(report, requests, *verdicts);
  if (positions.empty()) return Ok{};
  std::vector<plan::Request> again;
  for (const size_t i : positions) again.push_back(Again(requests[i], (*verdicts)[i]));
  std::vector<Tally> tallies(again.size());
  counter->Expect((runs - 1) * again.size());
  for (uint32_t run = 1; run < runs; ++run) {
    const Result<std::vector<FrameVerdict>> more = replays->Run(again, [&](size_t done) { counter->Show(done); });
    if (!more) return more.error();
    for (size_t i = 0; i < again.size(); ++i) {
      tallies[i].Add((*more)[i]);
      ++(*verdicts)[positions[i]].runs;
      (*verdicts)[positions[i]].seconds += (*more)[i].seconds;
    }
    counter->Passed(again.size());
  }
  for (size_t i = 0; i < again.size(); ++i) {
    if (tallies[i].others.empty()) continue;
    (*verdicts)[positions[i]].verdict = Verdict::kUnstable;
    (*verdicts)[positions[i]].note = tallies[i].Text(runs);
  }
  return Ok{};
}

}  // namespace

Result<std::vector<FrameVerdict>> VerifyFrames(const Report& report, const VerifyOptions& options,
                                               const std::function<void(size_t, size_t)>& progress) {
  std::vector<plan::Request> requests;
  const size_t frames = report.replay ? report.replay->frames.size() : 0;
  for (const uint32_t frame : ChooseFrames(frames, options.max_frames)) {
    const std::vector<uint32_t>& only = options.only;
    const bool wanted = only.empty() || std::ranges::find(only, report.replay->frames[frame].index) != only.end();
    if (!wanted) continue;
    requests.emplace_back();
    requests.back().frame = frame;
    requests.back().start.from_entry = options.from_entry;
  }
  Result<Replays> replays = Replays::Prepare(report, options, requests);
  if (!replays) return replays.error();
  Counter counter(progress, requests.size());
  Result<std::vector<FrameVerdict>> verdicts = replays->Run(requests, [&](size_t done) { counter.Show(done); });
  if (!verdicts) return verdicts;
  const Status confirmed = Confirm(report, requests, options.runs, &*replays, &counter, &*verdicts);
  if (!confirmed) return confirmed.error();
  return verdicts;
}

}  // namespace recrash
