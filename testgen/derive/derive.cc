#include "testgen/derive/derive.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>

#include "agent/process/target_memory.h"
#include "agent/process/traced_program.h"
#include "agent/report/pages.h"
#include "testgen/derive/arguments.h"
#include "testgen/derive/replayed_memory.h"
#include "testgen/derive/traced_replay.h"
#include "testgen/derive/twin_replay.h"
#include "testgen/rerun/hit_counts.h"
#include "testgen/rerun/rounds.h"
#include "testgen/verify/replays.h"

namespace recrash {
namespace {

// After so many outer frames whose replays gave no inner frame its state, the others are not tried.
constexpr int kMostAstray = 4;
// The same bound as for recorded states (agent/report/recorded_states.cc).
constexpr uint64_t kMostBytes = 2ull << 30;

std::string FrameText(uint32_t index) { return "frame " + std::to_string(index); }

// The replays of one outer frame from its entry state.
class OuterFrame {
  // What was found of a frame where it was met; of an inlined one, later in its call too.
  struct Taken {
    EntryState state;
    std::vector<Registers> registers;
  };

 public:
  // The replay begins as `start` says, with the memory of `state`.
  // `in_twin` is null without one.
  OuterFrame(const TestReport& report, size_t position, const EntryState& state, const Start& start,
             const DeriveOptions& options, Replays* replays, Replays* in_twin)
      : report_(report),
        position_(position),
        state_(state),
        start_(start),
        options_(options),
        replays_(replays),
        in_twin_(in_twin) {}

  // Moves what it derives out of `frames`. The error says in one clause what its replay did otherwise.
  Status Derive(std::vector<uint32_t>* frames, uint64_t* bytes_left, Derivation* derivation);

 private:
  const ReplayFrame& outer() const { return report_.replay.frames[position_]; }
  const ReplayFrame& FrameAt(size_t i) const;
  void ListEntries(const std::vector<uint32_t>& frames);
  void ChooseBegins();
  Status Run(const Round& round, bool to_its_end);
  Status Count(HitCounts* counts);
  Status CountAllEntries();
  Status TakeStates(uint64_t* bytes_left);
  std::string ReplayText() const;
  void Take(TracedProgram& program, size_t i, uint64_t sp, uint64_t* bytes_left);
  void NoteRegisters(TracedProgram& program, size_t i, uint64_t sp);
  bool KnowCall(uint32_t frame, Taken* taken, const Report* twin);
  void KnowCalls();
  void Finish(std::vector<uint32_t>* frames, Derivation* derivation);

  const TestReport& report_;
  size_t position_;
  const EntryState& state_;
  Start start_;
  const DeriveOptions& options_;
  Replays* replays_;
  Replays* in_twin_;
  std::vector<FrameEntry> entries_;      // innermost first; the last one is the outer frame itself
  std::map<uint32_t, uint64_t> begins_;  // of the frames that are met: the entry at which their states are taken
  std::map<uint32_t, std::string> why_not_;
  std::map<uint32_t, Taken> taken_;
  std::optional<ReplayedMemory> begin_;
};

const ReplayFrame& OuterFrame::FrameAt(size_t i) const {
  return *std::ranges::find(report_.replay.frames, entries_[i].frame, &ReplayFrame::index);
}

std::string OuterFrame::ReplayText() const {
  return FrameText(outer().index) + (start_.from_entry ? " replayed from its entry" : " replayed");
}

void OuterFrame::ListEntries(const std::vector<uint32_t>& frames) {
  for (const ReplayFrame& frame : report_.replay.frames) {
    if (std::ranges::find(frames, frame.index) == frames.end()) continue;
    const auto met = options_.met.find(frame.index);
    const bool is_met = met != options_.met.end();
    const TargetAddress entry = is_met ? met->second.at : frame.entry;
    const TargetAddress sp = is_met ? met->second.sp : frame.entry_sp;
    entries_.push_back({frame.index, entry.value, sp.value, 0, std::nullopt});
    if (!is_met) continue;
    begins_[frame.index] = entry.value;
    for (const std::vector<TargetAddress>* more : {&met->second.later, &met->second.others})
      for (const TargetAddress address : *more)
        entries_.push_back({frame.index, address.value, sp.value, 0, std::nullopt});
  }
  std::ranges::sort(entries_, {}, &FrameEntry::frame);
  // The outer frame is entered first, so it can be the gate of every hot function.
  entries_.push_back({outer().index, outer().entry.value, outer().entry_sp.value, 1, std::nullopt});
}

Status OuterFrame::Run(const Round& round, bool to_its_end) {
  const Result<Verdict> verdict = RunTraced(replays_, position_, start_, options_.seconds, round);
  if (!verdict) return Error{verdict.error().code, FrameText(outer().index) + " replayed: " + verdict.error().message};
  if (!to_its_end || *verdict == Verdict::kReproduced) return Ok{};
  return Error{Errc::kRefused, ReplayText() + ": " + VerdictText(*verdict)};
}

Status OuterFrame::Count(HitCounts* counts) {
  const auto entries = [this](pid_t) {
    std::set<uint64_t> all;
    for (const FrameEntry& entry : entries_) all.insert(entry.entry);
    return std::vector<uint64_t>(all.begin(), all.end());
  };
  return Run(CountEntries(entries, counts), true);
}

// An inlined call whose first piece of code is not reached begins with another piece.
void OuterFrame::ChooseBegins() {
  const auto is_reached = [this](uint32_t frame, uint64_t address) {
    return std::ranges::any_of(
        entries_, [&](const FrameEntry& e) { return e.frame == frame && e.entry == address && e.number != 0; });
  };
  for (auto& [frame, begin] : begins_) {
    const std::vector<TargetAddress>& others = options_.met.at(frame).others;
    const auto other = std::ranges::find_if(others, [&](TargetAddress at) { return is_reached(frame, at.value); });
    if (!is_reached(frame, begin) && other != others.end()) begin = other->value;
  }
}

// Sealed, as verification does it; if that does not reproduce, with the files of this machine.
Status OuterFrame::CountAllEntries() {
  std::optional<HitCounts> counts(kOften);
  start_.sealed = true;
  Status counted = Count(&*counts);
  if (!counted) {
    start_.sealed = false;
    counts.emplace(kOften);
    if (!Count(&*counts)) return counted;
  }
  const auto run = [this](const Round& round) { return Run(round, true); };
  if (Status numbered = NumberEntries(*counts, run, &entries_); !numbered) return numbered;
  ChooseBegins();
  for (size_t i = 0; i + 1 < entries_.size(); ++i) {
    const bool often = counts->IsHot(entries_[i].entry);
    why_not_[entries_[i].frame] = often ? "its function is entered too often" : ReplayText() + " did not come to it";
  }
  return Ok{};
}

void OuterFrame::Take(TracedProgram& program, size_t i, uint64_t sp, uint64_t* bytes_left) {
  const uint32_t frame = entries_[i].frame;
  if (frame == outer().index) return;
  const bool is_met = begins_.contains(frame);
  if (is_met && entries_[i].entry != begins_[frame]) return NoteRegisters(program, i, sp);
  why_not_[frame] = ReplayText() + " took another way to it";
  if (entries_[i].sp != sp) return;
  why_not_[frame] = ReplayText() + " came to it with other arguments";
  std::optional<std::vector<ReplayWord>> arguments;
  if (!is_met) {
    arguments = ArgumentsAt(report_, FrameAt(i), program.pid());
    if (!arguments) return;
  }
  Result<EntryState> state = begin_->StateAt(program.pid(), frame);
  why_not_[frame] = state ? "states of other frames leave no room for its own" : state.error().message;
  if (!state || SizeOf(state->memory.own()) > *bytes_left) return;
  *bytes_left -= SizeOf(state->memory.own());
  if (arguments) state->arguments = *std::move(arguments);
  taken_.insert_or_assign(frame, Taken{*std::move(state), {}});
  if (is_met) NoteRegisters(program, i, sp);
  why_not_[frame].clear();
}

// A later instruction counts if it was reached in the same call: after its state was taken.
void OuterFrame::NoteRegisters(TracedProgram& program, size_t i, uint64_t sp) {
  const auto taken = taken_.find(entries_[i].frame);
  std::optional<Registers> registers = RegistersOf(program.pid());
  if (taken == taken_.end() || entries_[i].sp != sp || !registers) return;
  registers->dwarf[16] = entries_[i].entry;
  taken->second.registers.push_back(*std::move(registers));
}

// False if an argument is not known, which it says.
bool OuterFrame::KnowCall(uint32_t frame, Taken* taken, const Report* twin) {
  Result<std::vector<ReplayWord>> arguments = options_.call_where_met(frame, taken->registers, taken->state, twin);
  why_not_[frame] = arguments ? "" : arguments.error().message;
  if (!arguments) return false;
  taken->state.arguments = *std::move(arguments);
  return true;
}

// Leaves the states of those frames whose arguments are known. The twin is asked first: what it was given is exact.
void OuterFrame::KnowCalls() {
  std::set<uint32_t> lost;
  for (const auto& [frame, taken] : taken_)
    if (options_.met.contains(frame)) lost.insert(frame);
  std::map<uint32_t, std::string> in_twin;
  if (!lost.empty() && in_twin_) {
    TwinReplay twin(report_, position_, start_, options_, in_twin_);
    const std::set<uint32_t> asked = lost;
    const Status visited = twin.Visit(asked, [&](uint32_t frame, const Report& process) {
      if (KnowCall(frame, &taken_.at(frame), &process))
        lost.erase(frame);
      else
        in_twin[frame] = why_not_[frame];
    });
    for (const uint32_t frame : visited ? std::set<uint32_t>() : lost) in_twin[frame] = visited.error().message;
  }
  for (const uint32_t frame : std::set<uint32_t>(lost)) {
    if (KnowCall(frame, &taken_.at(frame), nullptr)) continue;
    if (in_twin.contains(frame)) why_not_[frame] = in_twin[frame];
    taken_.erase(frame);
  }
}

// The states that were taken are the frames'.
void OuterFrame::Finish(std::vector<uint32_t>* frames, Derivation* derivation) {
  KnowCalls();
  for (auto& [frame, taken] : taken_) {
    derivation->states.push_back(std::move(taken.state));
    std::erase(*frames, frame);
  }
  for (const auto& [frame, why_not] : why_not_)
    if (!why_not.empty()) derivation->reasons.emplace(frame, why_not);
}

Status OuterFrame::TakeStates(uint64_t* bytes_left) {
  Status begun = Ok{};
  VisitRound visits(entries_, [&](TracedProgram& program, size_t i, uint64_t sp) {
    if (begin_) Take(program, i, sp, bytes_left);
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
  if (Status taken = TakeStates(bytes_left); !taken) return taken;
  Finish(frames, derivation);
  return Ok{};
}

Result<Replays> PrepareReplays(const TestReport& report, const DeriveOptions& options, const std::string& program) {
  VerifyOptions one = options.replay;
  one.program = program;
  one.seconds_per_frame = options.seconds;
  one.jobs = 1;
  return Replays::Prepare(report, one);
}

// The memory of the crash as a state: what a replay from there begins with. A deeper one has the fields of the record
// put back.
EntryState AsAtTheCrash(const TestReport& report, const ReplayFrame& frame, const Start& start) {
  EntryState state;
  state.frame = frame.index;
  state.brk_end = report.process.brk_end;
  state.files = report.files;
  Pages crash;
  LayPages(report.memory, &crash);
  std::map<uint64_t, std::vector<uint8_t>> changed;
  const auto put = [&](TargetAddress address, std::span<const uint8_t> bytes) {
    for (size_t i = 0; i < bytes.size(); ++i) {
      const uint64_t at = address.value + i;
      const uint64_t page = at - at % kPageSize;
      const auto recorded = crash.find(page);
      if (recorded == crash.end()) continue;
      std::vector<uint8_t>& copy = changed[page];
      if (copy.empty()) copy.assign(recorded->second, recorded->second + kPageSize);
      copy[at % kPageSize] = bytes[i];
    }
  };
  if (report.thrown) put(report.thrown->address, report.thrown->bytes);
  for (const ReplayField& field : frame.fields)
    if (field.depth <= start.depth) put(field.address, field.bytes);
  Pages pages;
  for (const auto& [address, bytes] : changed) pages[address] = bytes.data();
  state.memory = JoinPages(pages);
  return state;
}

// One derivation: the frames that lack a state, and the outer frames that are replayed for them, one after the other.
class Deriver {
 public:
  Deriver(const TestReport& report, const std::vector<uint32_t>& frames, const DeriveOptions& options)
      : report_(report), options_(options), left_(frames) {
    std::erase_if(left_, [&](uint32_t frame) { return report.replay.FindEntryState(frame) != nullptr; });
  }

  Result<Derivation> Run();

 private:
  Status From(const EntryState& state, const Start& start);

  const TestReport& report_;
  const DeriveOptions& options_;
  std::vector<uint32_t> left_;
  Derivation derivation_;
  std::optional<Replays> replays_;
  std::optional<Replays> in_twin_;
  bool asked_twin_ = false;
  uint64_t bytes_left_ = kMostBytes;
  int astray_ = 0;
};

Status Deriver::From(const EntryState& state, const Start& start) {
  const std::vector<ReplayFrame>& all = report_.replay.frames;
  const auto outer = std::ranges::find(all, state.frame, &ReplayFrame::index);
  std::vector<uint32_t> inside = left_;
  std::erase_if(inside, [&](uint32_t frame) { return frame >= state.frame; });
  if (outer == all.end() || inside.empty()) return Ok{};
  if (astray_ == kMostAstray) {
    const std::string why = "the replays of " + std::to_string(astray_) + " outer frames went astray";
    for (const uint32_t frame : inside) derivation_.reasons.emplace(frame, why);
    return Ok{};
  }
  if (!replays_) {
    Result<Replays> prepared = PrepareReplays(report_, options_, options_.replay.program);
    if (!prepared) return prepared.error();
    replays_.emplace(*std::move(prepared));
  }
  if (!asked_twin_ && !options_.replay.twin.empty() && options_.entries_in_twin) {
    asked_twin_ = true;
    if (Result<Replays> prepared = PrepareReplays(report_, options_, options_.replay.twin); prepared)
      in_twin_.emplace(*std::move(prepared));
  }
  const std::vector<uint32_t> wanted = inside;
  const size_t position = static_cast<size_t>(outer - all.begin());
  const Status derived =
      OuterFrame(report_, position, state, start, options_, &*replays_, in_twin_ ? &*in_twin_ : nullptr)
          .Derive(&inside, &bytes_left_, &derivation_);
  if (inside.size() == wanted.size()) ++astray_;
  for (const uint32_t frame : wanted) {
    if (!derived) derivation_.reasons.emplace(frame, derived.error().message);
    if (std::ranges::find(inside, frame) != inside.end()) continue;
    std::erase(left_, frame);
    derivation_.reasons.erase(frame);
  }
  return Ok{};
}

Result<Derivation> Deriver::Run() {
  for (const EntryState& state : report_.replay.entry_states) {
    const bool is_exact = state.origin != Origin::kDerived && state.copied_depth == 0;
    if (!is_exact) continue;
    if (const Status status = From(state, {.from_entry = true}); !status) return status.error();
  }
  astray_ = 0;
  for (const ReproducedFrame& reproduced : options_.reproduced) {
    const auto frame = std::ranges::find(report_.replay.frames, reproduced.frame, &ReplayFrame::index);
    if (frame == report_.replay.frames.end() || reproduced.start.rewind != 0) continue;
    const EntryState state = AsAtTheCrash(report_, *frame, reproduced.start);
    if (const Status status = From(state, reproduced.start); !status) return status.error();
  }
  std::ranges::sort(derivation_.states, {}, &EntryState::frame);
  return std::move(derivation_);
}

}  // namespace

Result<Derivation> DeriveEntryStates(const TestReport& report, const std::vector<uint32_t>& frames,
                                     const DeriveOptions& options) {
  return Deriver(report, frames, options).Run();
}

}  // namespace recrash
