#include "testgen/derive/derive.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>

#include "agent/process/traced_program.h"
#include "testgen/derive/arguments.h"
#include "testgen/derive/replayed_memory.h"
#include "testgen/rerun/hit_counts.h"
#include "testgen/rerun/rounds.h"
#include "testgen/verify/replays.h"

namespace recrash {
namespace {

// After so many outer frames whose replays gave no inner frame its state, the others are not tried.
constexpr int kMostAstray = 4;
// The same bound as for recorded states (agent/report/recorded_states.cc).
constexpr uint64_t kMostBytes = 2ull << 30;

// In seconds. The subject itself ends a replay whose time is over, and says so: it is waited for.
constexpr double kGrace = 5;

std::string FrameText(uint32_t index) { return "frame " + std::to_string(index); }

// The replays of one outer frame from its entry state.
class OuterFrame {
 public:
  OuterFrame(const TestReport& report, size_t position, const EntryState& state, const DeriveOptions& options,
             Replays* replays)
      : report_(report), position_(position), state_(state), options_(options), replays_(replays) {}

  // Moves what it derives out of `frames`. The error says in one clause what its replay did otherwise.
  Status Derive(std::vector<uint32_t>* frames, uint64_t* bytes_left, Derivation* derivation);

 private:
  const ReplayFrame& outer() const { return report_.replay.frames[position_]; }
  const ReplayFrame& FrameAt(size_t i) const;
  void ListEntries(const std::vector<uint32_t>& frames);
  Status Run(const Round& round, bool to_its_end);
  Status Count(HitCounts* counts);
  Status CountAllEntries();
  Status TakeStates(uint64_t* bytes_left, Derivation* derivation);
  void Take(TracedProgram& program, size_t i, uint64_t sp, uint64_t* bytes_left, Derivation* derivation);

  const TestReport& report_;
  size_t position_;
  const EntryState& state_;
  const DeriveOptions& options_;
  Replays* replays_;
  bool sealed_ = true;
  std::vector<FrameEntry> entries_;   // innermost first; the last one is the outer frame itself
  std::vector<std::string> why_not_;  // beside these
  std::optional<ReplayedMemory> begin_;
};

const ReplayFrame& OuterFrame::FrameAt(size_t i) const {
  return *std::ranges::find(report_.replay.frames, entries_[i].frame, &ReplayFrame::index);
}

void OuterFrame::ListEntries(const std::vector<uint32_t>& frames) {
  for (const ReplayFrame& frame : report_.replay.frames) {
    const bool wanted = std::ranges::find(frames, frame.index) != frames.end();
    if (wanted) entries_.push_back({frame.index, frame.entry.value, frame.entry_sp.value, 0, std::nullopt});
  }
  std::ranges::sort(entries_, {}, &FrameEntry::frame);
  // The outer frame is entered first, so it can be the gate of every hot function.
  entries_.push_back({outer().index, outer().entry.value, outer().entry_sp.value, 1, std::nullopt});
  why_not_.resize(entries_.size());
}

Status OuterFrame::Run(const Round& round, bool to_its_end) {
  Status traced = Error{Errc::kRefused, "it did not come to its call"};
  const auto trace = [&](pid_t process, const std::function<void()>& begin) {
    TracedProgram program(round.on_loaded, round.on_entry);
    const Result<int> status = program.Join(process, options_.seconds + kGrace, begin);
    traced = status ? Status(Ok{}) : Status(status.error());
  };
  const Result<Try> outcome =
      replays_->RunHeld(static_cast<uint32_t>(position_), {.from_entry = true, .sealed = sealed_}, trace);
  if (!outcome) return outcome.error();
  if (!traced) return Error{traced.error().code, FrameText(outer().index) + " replayed: " + traced.error().message};
  if (!to_its_end || outcome->verdict == Verdict::kReproduced) return Ok{};
  return Error{Errc::kRefused, FrameText(outer().index) + " replayed from its entry: " + VerdictText(outcome->verdict)};
}

Status OuterFrame::Count(HitCounts* counts) {
  const auto entries = [this](pid_t) {
    std::set<uint64_t> all;
    for (const FrameEntry& entry : entries_) all.insert(entry.entry);
    return std::vector<uint64_t>(all.begin(), all.end());
  };
  return Run(CountEntries(entries, counts), true);
}

// Sealed, as verification does it; if that does not reproduce, with the files of this machine.
Status OuterFrame::CountAllEntries() {
  std::optional<HitCounts> counts(kOften);
  Status counted = Count(&*counts);
  if (!counted) {
    sealed_ = false;
    counts.emplace(kOften);
    if (!Count(&*counts)) return counted;
  }
  const auto run = [this](const Round& round) { return Run(round, true); };
  if (Status numbered = NumberEntries(*counts, run, &entries_); !numbered) return numbered;
  for (size_t i = 0; i + 1 < entries_.size(); ++i) {
    const bool often = counts->IsHot(entries_[i].entry);
    why_not_[i] = often ? "its function is entered too often"
                        : FrameText(outer().index) + " replayed from its entry did not come to it";
  }
  return Ok{};
}

void OuterFrame::Take(TracedProgram& program, size_t i, uint64_t sp, uint64_t* bytes_left, Derivation* derivation) {
  if (entries_[i].frame == outer().index) return;
  why_not_[i] = FrameText(outer().index) + " replayed from its entry took another way to it";
  if (entries_[i].sp != sp) return;
  why_not_[i] = FrameText(outer().index) + " replayed from its entry came to it with other arguments";
  std::optional<std::vector<ReplayWord>> arguments = ArgumentsAt(report_, FrameAt(i), program.pid());
  if (!arguments) return;
  Result<EntryState> state = begin_->StateAt(program.pid(), entries_[i].frame);
  why_not_[i] = state ? "states of other frames leave no room for its own" : state.error().message;
  if (!state || SizeOf(state->memory.own()) > *bytes_left) return;
  *bytes_left -= SizeOf(state->memory.own());
  state->arguments = *std::move(arguments);
  derivation->states.push_back(*std::move(state));
  why_not_[i].clear();
}

Status OuterFrame::TakeStates(uint64_t* bytes_left, Derivation* derivation) {
  Status begun = Ok{};
  VisitRound visits(entries_, [&](TracedProgram& program, size_t i, uint64_t sp) {
    if (begin_) Take(program, i, sp, bytes_left, derivation);
    return begin_.has_value();
  });
  Round round = visits.round();
  const TracedProgram::OnLoaded arm = round.on_loaded;
  round.on_loaded = [&](TracedProgram& program) {
    Result<ReplayedMemory> memory = ReplayedMemory::AtBegin(report_, outer(), state_, program.pid());
    if (memory) {
      begin_.emplace(*std::move(memory));
    } else {
      begun = memory.error();
    }
    arm(program);
  };
  const Status taken = Run(round, false);
  return begun ? taken : begun;
}

Status OuterFrame::Derive(std::vector<uint32_t>* frames, uint64_t* bytes_left, Derivation* derivation) {
  ListEntries(*frames);
  if (Status counted = CountAllEntries(); !counted) return counted;
  if (Status taken = TakeStates(bytes_left, derivation); !taken) return taken;
  for (size_t i = 0; i + 1 < entries_.size(); ++i) {
    if (why_not_[i].empty()) {
      std::erase(*frames, entries_[i].frame);
    } else {
      derivation->reasons.emplace(entries_[i].frame, why_not_[i]);
    }
  }
  return Ok{};
}

Result<Replays> PrepareReplays(const TestReport& report, const DeriveOptions& options) {
  VerifyOptions one = options.replay;
  one.seconds_per_frame = options.seconds;
  one.jobs = 1;
  return Replays::Prepare(report, one);
}

}  // namespace

Result<Derivation> DeriveEntryStates(const TestReport& report, const std::vector<uint32_t>& frames,
                                     const DeriveOptions& options) {
  Derivation derivation;
  const std::vector<ReplayFrame>& all = report.replay.frames;
  std::vector<uint32_t> left = frames;
  std::erase_if(left, [&](uint32_t frame) { return report.replay.FindEntryState(frame) != nullptr; });
  std::optional<Replays> replays;
  uint64_t bytes_left = kMostBytes;
  int astray = 0;
  for (const EntryState& state : report.replay.entry_states) {
    const auto outer = std::ranges::find(all, state.frame, &ReplayFrame::index);
    std::vector<uint32_t> inside = left;
    std::erase_if(inside, [&](uint32_t frame) { return frame >= state.frame; });
    const bool is_exact = state.origin != Origin::kDerived && state.copied_depth == 0;
    if (!is_exact || outer == all.end() || inside.empty()) continue;
    if (astray == kMostAstray) {
      const std::string why = "the replays of " + std::to_string(astray) + " outer frames went astray";
      for (const uint32_t frame : inside) derivation.reasons.emplace(frame, why);
      continue;
    }
    if (!replays) {
      Result<Replays> prepared = PrepareReplays(report, options);
      if (!prepared) return prepared.error();
      replays.emplace(*std::move(prepared));
    }
    const std::vector<uint32_t> wanted = inside;
    const size_t position = static_cast<size_t>(outer - all.begin());
    const Status derived =
        OuterFrame(report, position, state, options, &*replays).Derive(&inside, &bytes_left, &derivation);
    if (inside.size() == wanted.size()) ++astray;
    for (const uint32_t frame : wanted) {
      if (!derived) derivation.reasons.emplace(frame, derived.error().message);
      if (std::ranges::find(inside, frame) != inside.end()) continue;
      std::erase(left, frame);
      derivation.reasons.erase(frame);
    }
  }
  std::ranges::sort(derivation.states, {}, &EntryState::frame);
  return derivation;
}

}  // namespace recrash
