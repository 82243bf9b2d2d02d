#include <fmt/format.h>

#include <algorithm>

#include "testgen/derive/derive.h"
#include "testgen/suite/steps.h"

namespace recrash {
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

Derivation DeriveStates(const std::vector<uint32_t>& frames, const VerifyOptions& verify, const TestReport& report,
                        Observer* observer) {
  if (frames.empty() || report.replay.entry_states.empty()) return {};
  observer->Progress("deriving entry states", 0, frames.size());
  DeriveOptions options;
  options.replay = verify;
  Result<Derivation> derivation = DeriveEntryStates(report, frames, options);
  if (derivation) return *std::move(derivation);
  observer->Note("no entry states are derived: " + derivation.error().message);
  return {};
}

// Of frames that do not reproduce from a derived state the verdict before stands.
void TakeVerdict(const FrameVerdict& from_entry, FrameVerdict* verdict) {
  if (from_entry.verdict == Verdict::kReproduced) {
    const double before = verdict->seconds;
    *verdict = from_entry;
    verdict->seconds += before;
  } else {
    AddClause(fmt::format("from the entry state derived from frame {}: {}", from_entry.derived_from.value_or(0),
                          from_entry.note),
              verdict);
  }
}

// Replays the frames that have a state now from that alone.
Status ReplayFromEntries(Derivation derivation, VerifyOptions options, TestReport* report,
                         std::vector<FrameVerdict>* verdicts, Observer* observer) {
  if (derivation.states.empty()) return Ok{};
  options.only = IndicesOf(derivation.states);
  options.from_entry = true;
  AddStates(derivation.states, &report->replay);
  const Result<std::vector<FrameVerdict>> again = ReplayFrames(*report, options, observer);
  if (!again) return again.error();
  for (const FrameVerdict& verdict : *again)
    TakeVerdict(verdict, &*std::ranges::find(*verdicts, verdict.index, &FrameVerdict::index));
  return Ok{};
}

}  // namespace

Result<std::vector<FrameVerdict>> ReplayFrames(const TestReport& report, const VerifyOptions& options,
                                               Observer* observer) {
  Result<std::vector<FrameVerdict>> verdicts =
      VerifyFrames(report, options, [=](size_t done, size_t all) { observer->Progress("replaying frame", done, all); });
  if (verdicts) std::ranges::sort(*verdicts, {}, &FrameVerdict::index);
  return verdicts;
}

Status ReplayDerived(bool all, VerifyOptions options, TestReport* report, std::vector<FrameVerdict>* verdicts,
                     Observer* observer) {
  Derivation derivation = DeriveStates(FramesToDerive(*verdicts, all), options, *report, observer);
  for (FrameVerdict& verdict : *verdicts) {
    const auto reason = derivation.reasons.find(verdict.index);
    if (reason != derivation.reasons.end()) AddClause("no entry state: " + reason->second, &verdict);
  }
  return ReplayFromEntries(std::move(derivation), std::move(options), report, verdicts, observer);
}

}  // namespace recrash
