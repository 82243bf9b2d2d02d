#include "testgen/verify/starts.h"

#include <algorithm>

namespace recrash {
namespace {

std::vector<Start> AllStarts(const Choices& choices, bool sealed) {
  if (choices.only_from_entry) return {{.from_entry = true, .sealed = sealed}};
  std::vector<Start> starts;
  if (choices.has_entry_state && choices.is_exact) starts.push_back({.from_entry = true, .sealed = sealed});
  for (uint8_t depth = 0; depth <= choices.deepest; ++depth) starts.push_back({.depth = depth, .sealed = sealed});
  if (choices.has_entry_state && !choices.is_exact) starts.push_back({.from_entry = true, .sealed = sealed});
  if (choices.streams != 0) starts.push_back({.sealed = sealed, .rewind = choices.streams});
  return starts;
}

// That an entry state cannot be replayed says nothing of the memory of the crash.
bool Settles(const Try& one) {
  return one.verdict == Verdict::kReproduced || (one.verdict == Verdict::kCannotReplay && !one.start.from_entry);
}

bool ReproducedForWant(const Try& one) { return one.verdict == Verdict::kReproduced && one.start.sealed && one.lacked; }

}  // namespace

Choices ChoicesOf(const ReplayData& replay, const ReplayFrame& frame) {
  Choices choices;
  for (const ReplayField& field : frame.fields) choices.deepest = std::max(choices.deepest, field.depth);
  const EntryState* state = replay.FindEntryState(frame.index);
  choices.has_entry_state = state != nullptr;
  choices.is_exact = state && state->copied_depth == 0 && !state->others_ran;
  choices.streams = frame.StreamBits();
  return choices;
}

const Try& Standing(std::span<const Try> tries) {
  size_t last = tries.size() - 1;
  const bool again = last > 0 && ReproducedForWant(tries[last - 1]);
  if (again) return tries[last].verdict == Verdict::kReproduced ? tries[last] : tries[last - 1];
  if (last > 0 && tries[last].start.rewind && tries[last].verdict != Verdict::kReproduced) --last;
  if (!tries[0].start.from_entry || Settles(tries[last])) return tries[last];
  for (size_t i = last + 1; i-- > 0;)
    if (tries[i].start.from_entry && tries[i].verdict != Verdict::kCannotReplay) return tries[i];
  return tries[last];
}

std::optional<Start> NextStart(const Choices& choices, std::span<const Try> tries) {
  const std::vector<Start> sealed = AllStarts(choices, true);
  if (tries.empty()) return sealed.front();
  if (ReproducedForWant(tries.back())) {
    Start start = tries.back().start;
    start.sealed = false;
    return start;
  }
  if (Settles(Standing(tries))) return std::nullopt;
  const size_t rounds = tries.size() / sealed.size();
  const size_t next = tries.size() % sealed.size();
  if (rounds == 0) return sealed[next];
  const bool missed = std::ranges::any_of(tries.first(sealed.size()), &Try::missed);
  if (rounds > 1 || !missed) return std::nullopt;
  return AllStarts(choices, false)[next];
}

}  // namespace recrash
