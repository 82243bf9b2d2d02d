// Verdicts on a suite's frames: replayed as they are at the crash, or from what was recorded at their entries; where
// that does not reproduce, from entry states that are derived (--derive).
#include <fmt/format.h>

#include <algorithm>

#include "integrations/cli/terminal.h"
#include "testgen/derive/derive.h"
#include "testgen/suite/pipeline.h"
#include "testgen/suite/support.h"

namespace recrash::cli {
namespace {

// Another start of the same frame may end otherwise.
bool MayReproduce(const FrameVerdict& verdict) {
  switch (verdict.verdict) {
    case Verdict::kDifferentFailure:
    case Verdict::kReturned:
    case Verdict::kExited:
    case Verdict::kTimedOut:
      return true;
    default:
      return false;
  }
}

std::vector<uint32_t> IndicesOf(const std::vector<EntryState>& states) {
  std::vector<uint32_t> indices;
  for (const EntryState& state : states) indices.push_back(state.frame);
  return indices;
}

void AddClause(const std::string& clause, FrameVerdict* verdict) {
  const bool says_more = !verdict->note.empty() && verdict->note != "returned";
  verdict->note = says_more ? verdict->note + "; " + clause : clause;
}

void AddStates(const std::vector<EntryState>& states, ReplayData* replay) {
  replay->entry_states.insert(replay->entry_states.end(), states.begin(), states.end());
  std::ranges::sort(replay->entry_states, {}, &EntryState::frame);
}

std::vector<uint32_t> FramesToDerive(const std::vector<FrameVerdict>& verdicts, bool all) {
  std::vector<uint32_t> frames;
  for (const FrameVerdict& verdict : verdicts)
    if (all || MayReproduce(verdict)) frames.push_back(verdict.index);
  return frames;
}

Derivation DeriveStates(const std::vector<uint32_t>& frames, const VerifyOptions& verify, const Report& report) {
  if (frames.empty() || report.replay->entry_states.empty()) return {};
  Progress progress("deriving entry states");
  progress.Show(0, frames.size());
  DeriveOptions options;
  options.replay = verify;
  Result<Derivation> derivation = DeriveEntryStates(report, frames, options);
  progress.Clear();
  if (derivation) return *std::move(derivation);
  Note("no entry states are derived: " + derivation.error().message);
  return {};
}

VerifyOptions OptionsFor(const Suite& suite, const VerifyOptionsGiven& options) {
  VerifyOptions verify;
  verify.program = suite.program;
  verify.seconds_per_frame = options.seconds_per_frame;
  verify.max_frames = options.max_frames;
  verify.runs = options.runs;
  verify.jobs = options.jobs;
  verify.allow_same_bases = options.same_bases;
  verify.support_directory = SupportDirectory();
  return verify;
}

Result<std::vector<FrameVerdict>> Replay(const Suite& suite, const VerifyOptions& verify) {
  Progress progress("replaying frame");
  Result<std::vector<FrameVerdict>> verdicts =
      VerifyFrames(suite.report, verify, [&](size_t done, size_t all) { progress.Show(done, all); });
  if (verdicts) std::ranges::sort(*verdicts, {}, &FrameVerdict::index);
  return verdicts;
}

// Frames that reproduce from a derived state keep it, and its arguments; of others the verdict before stands.
void TakeVerdict(const FrameVerdict& from_entry, std::vector<ReplayWord> arguments, FrameVerdict* verdict,
                 ReplayFrame* frame) {
  if (from_entry.verdict == Verdict::kReproduced) {
    const double before = verdict->seconds;
    *verdict = from_entry;
    verdict->seconds += before;
  } else {
    AddClause(fmt::format("from the entry state derived from frame {}: {}", from_entry.derived_from.value_or(0),
                          from_entry.note),
              verdict);
    frame->words = std::move(arguments);  // those before
  }
}

template <typename T>
auto Find(std::vector<T>& all, uint32_t index) {
  return std::ranges::find(all, index, &T::index);
}

// Replays those that have a state now from that alone.
Status ReplayFromEntries(Derivation derivation, VerifyOptions verify, Suite* suite,
                         std::vector<FrameVerdict>* verdicts) {
  if (derivation.states.empty()) return Ok{};
  std::vector<ReplayFrame>& frames = suite->report.replay->frames;
  verify.only = IndicesOf(derivation.states);
  verify.from_entry = true;
  AddStates(derivation.states, &*suite->report.replay);
  for (auto& [frame, arguments] : derivation.arguments) std::swap(Find(frames, frame)->words, arguments);
  const Result<std::vector<FrameVerdict>> again = Replay(*suite, verify);
  if (!again) return again.error();
  for (const FrameVerdict& verdict : *again) {
    std::vector<ReplayWord>& before = derivation.arguments[verdict.index];
    TakeVerdict(verdict, std::move(before), &*Find(*verdicts, verdict.index), &*Find(frames, verdict.index));
  }
  return Ok{};
}

}  // namespace

Result<std::vector<FrameVerdict>> ReplayFrames(Suite* suite, const VerifyOptionsGiven& options, bool same_build) {
  const VerifyOptions verify = OptionsFor(*suite, options);
  Result<std::vector<FrameVerdict>> verdicts = Replay(*suite, verify);
  if (!verdicts || !same_build || options.derive == Derive::kNone) return verdicts;
  const bool all = options.derive == Derive::kAll;
  Derivation derivation = DeriveStates(FramesToDerive(*verdicts, all), verify, suite->report);
  for (FrameVerdict& verdict : *verdicts) {
    const auto reason = derivation.reasons.find(verdict.index);
    if (reason != derivation.reasons.end()) AddClause("no entry state: " + reason->second, &verdict);
  }
  const Status status = ReplayFromEntries(std::move(derivation), verify, suite, &*verdicts);
  if (!status) return status.error();
  return verdicts;
}

}  // namespace recrash::cli
