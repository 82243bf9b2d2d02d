#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <span>

#include "testgen/derive/derive.h"
#include "testgen/suite/steps.h"
#include "testgen/symbols/inlined_frames.h"

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

// It reproduced in memory of the crash, where a fix cannot undo what the call had done.
bool HoldsDamage(const FrameVerdict& verdict) {
  return verdict.verdict == Verdict::kReproduced && !verdict.start.from_entry;
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

// Of a deep recursion each frame would get a state with a stack of its own: some 20 KB a frame of jsonnet's.
constexpr auto kManyFrames = 64;

std::vector<uint32_t> FramesToDerive(const std::vector<FrameVerdict>& verdicts, bool all, uint32_t runs) {
  std::vector<uint32_t> frames;
  const bool is_deep = std::ranges::count_if(verdicts, HoldsDamage) > kManyFrames;
  for (const FrameVerdict& verdict : verdicts)
    if (all || MayReproduce(verdict) || (HoldsDamage(verdict) && verdict.runs >= runs && !is_deep))
      frames.push_back(verdict.index);
  return frames;
}

Derivation DeriveStates(const std::vector<uint32_t>& frames, const DeriveOptions& options, const TestReport& report,
                        Observer* observer) {
  if (frames.empty() || (report.replay.entry_states.empty() && options.reproduced.empty())) return {};
  observer->Progress("deriving entry states", 0, frames.size());
  Result<Derivation> derivation = DeriveEntryStates(report, frames, options);
  if (derivation) return *std::move(derivation);
  observer->Note("no entry states are derived: " + derivation.error().message);
  return {};
}

// Frames of a suite that derivation meets in replays of frames outside: inlined ones, and those whose arguments the
// crash has lost.
class MetFrames {
 public:
  explicit MetFrames(Suite* suite) : suite_(suite) {}

  // Adds those whose arguments are not known at the crash to the frames that can be replayed, with a verdict that says
  // why they were not. Returns their indices.
  const std::vector<uint32_t>& AddLost(std::vector<FrameVerdict>* verdicts);
  // Takes away those of them that nothing was derived for. Their frames say why.
  void DropLost(std::vector<FrameVerdict>* verdicts);
  // Fails if the report cannot be read for that.
  Status Prepare(const std::vector<FrameVerdict>& verdicts, DeriveOptions* options);
  // The frame was derived and reproduces so: its test shows its arguments as they were where it was met.
  void Show(uint32_t frame);
  // Replays against other builds need the types of all frames that have become known.
  void AddTypes();

 private:
  std::vector<Frame>& frames() { return suite_->backtrace.frames; }
  bool has_twin() const { return !suite_->twin.empty(); }
  Result<std::vector<ReplayWord>> Meet(uint32_t frame, std::span<const Registers> registers, const EntryState& state,
                                       const Report* twin);
  std::vector<EntryInTwin> EntriesIn(const Report& twin);
  SymbolOptions TwinsSymbols() const;

  Suite* suite_;
  std::optional<Symbols> symbols_;
  std::optional<InlinedFrames> inlined_;
  std::map<uint32_t, Frame> met_;
  std::vector<uint32_t> lost_;
};

const std::vector<uint32_t>& MetFrames::AddLost(std::vector<FrameVerdict>* verdicts) {
  for (const Frame& frame : frames()) {
    const auto& known = suite_->report.replay.frames;
    const bool is_known = std::ranges::find(known, frame.index, &ReplayFrame::index) != known.end();
    if (frame.candidate || is_known || !CanBeMet(frame, has_twin())) continue;
    lost_.push_back(frame.index);
    suite_->report.replay.frames.push_back(MakeReplayFrame(frame));
    FrameVerdict& verdict = verdicts->emplace_back();
    verdict.index = frame.index;
    verdict.note = frame.why_not;
  }
  std::ranges::sort(suite_->report.replay.frames, {}, &ReplayFrame::index);
  std::ranges::sort(*verdicts, {}, &FrameVerdict::index);
  return lost_;
}

void MetFrames::DropLost(std::vector<FrameVerdict>* verdicts) {
  for (const uint32_t frame : lost_) {
    if (suite_->report.replay.FindEntryState(frame)) continue;
    std::ranges::find(frames(), frame, &Frame::index)->why_not =
        std::ranges::find(*verdicts, frame, &FrameVerdict::index)->note;
    std::erase_if(suite_->report.replay.frames, [&](const ReplayFrame& replay) { return replay.index == frame; });
    std::erase_if(*verdicts, [&](const FrameVerdict& verdict) { return verdict.index == frame; });
  }
}

Status MetFrames::Prepare(const std::vector<FrameVerdict>& verdicts, DeriveOptions* options) {
  for (const Frame& frame : frames())
    if (CanBeMet(frame, has_twin()))
      options->met[frame.index] =
          frame.inlined ? MetEntry{frame.inlined_at, frame.inlined_sp, frame.inlined_later, frame.inlined_else}
                        : MetEntry{frame.entry, frame.entry_sp};
  for (const FrameVerdict& verdict : verdicts) {
    const bool reproduced = verdict.verdict == Verdict::kReproduced && !verdict.start.from_entry;
    if (reproduced && !options->met.contains(verdict.index))
      options->reproduced.push_back({verdict.index, verdict.start});
  }
  // The outermost one comes to all the others by itself: its states have no damage in them that their frames did.
  if (!options->reproduced.empty())
    std::rotate(options->reproduced.begin(), options->reproduced.end() - 1, options->reproduced.end());
  if (options->met.empty()) return Ok{};
  Result<Symbols> symbols = Symbols::Open(suite_->report, suite_->symbols);
  if (!symbols) return symbols.error();
  symbols_ = *std::move(symbols);
  Result<InlinedFrames> inlined = InlinedFrames::Read(suite_->report, *symbols_);
  if (!inlined) return inlined.error();
  inlined_.emplace(*std::move(inlined));
  options->call_where_met = [this](uint32_t frame, std::span<const Registers> registers, const EntryState& state,
                                   const Report* twin) { return Meet(frame, registers, state, twin); };
  options->entries_in_twin = [this](const Report& twin) { return EntriesIn(twin); };
  return Ok{};
}

SymbolOptions MetFrames::TwinsSymbols() const {
  SymbolOptions options = suite_->symbols;
  options.program = suite_->twin;
  return options;
}

std::vector<EntryInTwin> MetFrames::EntriesIn(const Report& twin) {
  std::vector<EntryInTwin> entries;
  const Result<std::unique_ptr<Twin>> opened = Twin::Open(twin, TwinsSymbols());
  if (!opened) return entries;
  for (const TwinEntry& entry : (*opened)->EntriesOf(frames())) entries.push_back({entry.frame, entry.address});
  return entries;
}

Result<std::vector<ReplayWord>> MetFrames::Meet(uint32_t frame, std::span<const Registers> registers,
                                                const EntryState& state, const Report* twin) {
  const auto found = std::ranges::find(frames(), frame, &Frame::index);
  const Error not_known{Errc::kRefused, "an argument is known nowhere in its call"};
  if (found == frames().end() || registers.empty()) return not_known;
  if (!found->inlined) {
    const auto met = FrameAtItsEntry(suite_->report, *symbols_, *found, registers.front(), state);
    if (!met) return not_known;
    return met_.insert_or_assign(frame, *met).first->second.words;
  }
  std::unique_ptr<Twin> opened;
  if (twin)
    if (Result<std::unique_ptr<Twin>> result = Twin::Open(*twin, TwinsSymbols())) opened = *std::move(result);
  const auto position = static_cast<size_t>(found - frames().begin());
  Result<Frame> met = inlined_->AtItsEntry(frames(), position, registers, state, opened.get());
  if (!met) return met.error();
  return met_.insert_or_assign(frame, *std::move(met)).first->second.words;
}

void MetFrames::Show(uint32_t frame) {
  const auto met = met_.find(frame);
  if (met != met_.end()) *std::ranges::find(frames(), frame, &Frame::index) = met->second;
}

void MetFrames::AddTypes() {
  if (met_.empty()) return;
  ReplayData data = MakeReplayData(suite_->backtrace, *symbols_);
  ReplayData& known = suite_->report.replay;
  for (ReplayFrame& frame : known.frames) {
    const auto again = std::ranges::find(data.frames, frame.index, &ReplayFrame::index);
    if (again != data.frames.end()) frame.parameters = again->parameters;
  }
  known.images = std::move(data.images);
}

// Of frames that do not reproduce from a derived state the verdict before stands.
void TakeVerdict(const FrameVerdict& from_entry, FrameVerdict* verdict) {
  if (from_entry.verdict == Verdict::kReproduced) {
    const double before = verdict->seconds;
    *verdict = from_entry;
    verdict->seconds += before;
  } else if (verdict->verdict != Verdict::kReproduced) {
    AddClause(fmt::format("from the entry state derived from frame {}: {}", from_entry.derived_from.value_or(0),
                          from_entry.note),
              verdict);
  }
}

// Replays the frames that have a state now from that alone.
Status ReplayFromEntries(Derivation derivation, VerifyOptions options, Suite* suite, MetFrames* met,
                         std::vector<FrameVerdict>* verdicts, Observer* observer) {
  if (derivation.states.empty()) return Ok{};
  options.only = IndicesOf(derivation.states);
  options.from_entry = true;
  AddStates(derivation.states, &suite->report.replay);
  const Result<std::vector<FrameVerdict>> again = ReplayFrames(suite->report, options, observer);
  if (!again) return again.error();
  for (const FrameVerdict& verdict : *again) {
    TakeVerdict(verdict, &*std::ranges::find(*verdicts, verdict.index, &FrameVerdict::index));
    if (verdict.verdict == Verdict::kReproduced) met->Show(verdict.index);
  }
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

Status ReplayDerived(bool all, const VerifyOptions& options, Suite* suite, std::vector<FrameVerdict>* verdicts,
                     Observer* observer) {
  MetFrames met(suite);
  std::vector<uint32_t> frames = FramesToDerive(*verdicts, all, options.runs);
  for (const uint32_t lost : met.AddLost(verdicts)) frames.push_back(lost);
  DeriveOptions derive;
  derive.replay = options;
  if (const Status status = met.Prepare(*verdicts, &derive); !status)
    observer->Note("no arguments are taken in replays: " + status.error().message);
  Derivation derivation = DeriveStates(frames, derive, suite->report, observer);
  for (FrameVerdict& verdict : *verdicts) {
    const auto reason = derivation.reasons.find(verdict.index);
    if (reason != derivation.reasons.end() && verdict.verdict != Verdict::kReproduced)
      AddClause("no entry state: " + reason->second, &verdict);
  }
  const Status replayed = ReplayFromEntries(std::move(derivation), options, suite, &met, verdicts, observer);
  met.DropLost(verdicts);
  met.AddTypes();
  return replayed;
}

}  // namespace recrash
