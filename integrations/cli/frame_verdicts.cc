// Verdicts on a suite's frames: replayed as they are at the crash, or from what was recorded at their entries; where
// that does not reproduce, from entry states that are derived (--derive).
#include <fmt/format.h>

#include <algorithm>

#include "integrations/cli/pipeline.h"
#include "integrations/cli/support.h"
#include "integrations/cli/terminal.h"
#include "testgen/derive/derive.h"

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

std::vector<uint32_t> IndicesOf(const std::vector<ReplayFrame>& frames) {
  std::vector<uint32_t> indices;
  for (const ReplayFrame& frame : frames) indices.push_back(frame.index);
  return indices;
}

std::vector<uint32_t> FramesToDerive(const std::vector<FrameVerdict>& verdicts) {
  std::vector<uint32_t> frames;
  for (const FrameVerdict& verdict : verdicts)
    if (MayReproduce(verdict)) frames.push_back(verdict.index);
  return frames;
}

struct DerivedFrames {
  std::vector<uint32_t> frames;
  std::map<uint32_t, std::string> reasons;  // of frames that lie inside one with a state, and got none
};

// Adds to the suite's report what can be derived.
DerivedFrames DeriveStates(const std::vector<uint32_t>& frames, const VerifyOptions& verify, Suite* suite) {
  if (frames.empty() || suite->report.replay->entry_states.empty()) return {};
  Progress progress("deriving entry states");
  progress.Show(0, frames.size());
  DeriveOptions options;
  options.replay = verify;
  Result<Derivation> derivation = DeriveEntryStates(suite->report, frames, options);
  progress.Clear();
  if (!derivation) {
    Note("no entry states are derived: " + derivation.error().message);
    return {};
  }
  AddStates(derivation->states, &*suite->report.replay);
  return {IndicesOf(derivation->states), std::move(derivation->reasons)};
}

// In the notes of frames that did not reproduce all the same.
void SayWhatDerivationDid(const Report& report, const DerivedFrames& derived, std::vector<FrameVerdict>* verdicts) {
  for (FrameVerdict& verdict : *verdicts) {
    if (verdict.verdict == Verdict::kReproduced) continue;
    const auto reason = derived.reasons.find(verdict.index);
    const EntryState* state = report.replay->FindEntryState(verdict.index);
    if (reason != derived.reasons.end()) {
      AddClause("no entry state: " + reason->second, &verdict);
    } else if (state && state->derived_from && verdict.entry_state) {
      AddClause(fmt::format("so it does from the entry state derived from frame {}", *state->derived_from), &verdict);
    }
  }
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

// Once more, those of `only`, in place of what was found before.
Status ReplayAgain(const Suite& suite, VerifyOptions verify, std::vector<uint32_t> only,
                   std::vector<FrameVerdict>* verdicts) {
  if (only.empty()) return Ok{};
  verify.only = std::move(only);
  const Result<std::vector<FrameVerdict>> again = Replay(suite, verify);
  if (!again) return again.error();
  for (const FrameVerdict& verdict : *again)
    *std::ranges::find(*verdicts, verdict.index, &FrameVerdict::index) = verdict;
  return Ok{};
}

}  // namespace

Result<std::vector<FrameVerdict>> ReplayFrames(Suite* suite, const VerifyOptionsGiven& options, bool same_build) {
  const VerifyOptions verify = OptionsFor(*suite, options);
  const bool derive = same_build && options.derive != Derive::kNone && suite->report.replay;
  DerivedFrames derived;
  if (derive && options.derive == Derive::kAll)
    derived = DeriveStates(IndicesOf(suite->report.replay->frames), verify, suite);
  Result<std::vector<FrameVerdict>> verdicts = Replay(*suite, verify);
  if (!verdicts || !derive) return verdicts;
  if (options.derive == Derive::kNeeded) {
    derived = DeriveStates(FramesToDerive(*verdicts), verify, suite);
    if (const Status again = ReplayAgain(*suite, verify, derived.frames, &*verdicts); !again) return again.error();
  }
  SayWhatDerivationDid(suite->report, derived, &*verdicts);
  return verdicts;
}

}  // namespace recrash::cli
