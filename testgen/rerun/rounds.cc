#include "testgen/rerun/rounds.h"

#include <algorithm>

namespace recrash {
namespace {

// Counts the frames that have a gate.
class GateRound {
 public:
  explicit GateRound(std::vector<FrameEntry>* frames) : frames_(frames) {}
  Round round();
  // Gives the frames their numbers; when the round is over.
  void Finish();

 private:
  AtEntry Entered(TracedProgram& program, uint64_t entry, uint64_t sp);

  std::vector<FrameEntry>* frames_;
  HitCounts gates_{UINT64_MAX};
  HitCounts counts_{kTooOften};
};

Round GateRound::round() {
  const auto on_loaded = [this](TracedProgram& program) {
    for (const FrameEntry& frame : *frames_)
      if (frame.gate) program.Arm((*frames_)[*frame.gate].entry);
  };
  return {on_loaded,
          [this](TracedProgram& program, uint64_t entry, uint64_t sp) { return Entered(program, entry, sp); }};
}

AtEntry GateRound::Entered(TracedProgram& program, uint64_t entry, uint64_t sp) {
  const bool hot = std::ranges::any_of(*frames_, [&](const FrameEntry& f) { return f.gate && f.entry == entry; });
  if (hot) return counts_.Count(entry, sp) ? AtEntry::kGoOn : AtEntry::kDisarm;
  gates_.Count(entry, sp);
  for (const FrameEntry& frame : *frames_) {
    if (!frame.gate || (*frames_)[*frame.gate].entry != entry) continue;
    if ((*frames_)[*frame.gate].number == gates_.Entries(entry)) program.Arm(frame.entry);
  }
  return AtEntry::kGoOn;
}

void GateRound::Finish() {
  for (FrameEntry& frame : *frames_)
    if (frame.gate) frame.number = counts_.Last(frame.entry, frame.sp);
}

}  // namespace

Round CountEntries(std::function<std::vector<uint64_t>(pid_t)> entries, HitCounts* counts) {
  return {[entries = std::move(entries)](TracedProgram& program) {
            for (const uint64_t entry : entries(program.pid())) program.Arm(entry);
          },
          [counts](TracedProgram&, uint64_t entry, uint64_t sp) {
            return counts->Count(entry, sp) ? AtEntry::kGoOn : AtEntry::kDisarm;
          }};
}

Status NumberEntries(const HitCounts& counts, const std::function<Status(const Round&)>& run,
                     std::vector<FrameEntry>* frames) {
  for (FrameEntry& frame : *frames)
    if (frame.number == 0) frame.number = counts.Last(frame.entry, frame.sp);
  if (!ChooseGates(counts, frames)) return Ok{};
  GateRound gates(frames);
  if (Status status = run(gates.round()); !status) return status;
  gates.Finish();
  return Ok{};
}

VisitRound::VisitRound(const std::vector<FrameEntry>& frames, AtFrame at_frame)
    : frames_(frames),
      at_frame_(std::move(at_frame)),
      left_(static_cast<size_t>(std::ranges::count_if(frames, [](const FrameEntry& f) { return f.number > 0; }))) {}

Round VisitRound::round() {
  const auto on_loaded = [this](TracedProgram& program) {
    for (const FrameEntry& frame : frames_)
      if (frame.number && !frame.gate) program.Arm(frame.entry);
  };
  return {on_loaded,
          [this](TracedProgram& program, uint64_t entry, uint64_t sp) { return Entered(program, entry, sp); }};
}

AtEntry VisitRound::Entered(TracedProgram& program, uint64_t entry, uint64_t sp) {
  counts_.Count(entry, sp);
  for (size_t i = 0; i < frames_.size(); ++i) {
    const FrameEntry& frame = frames_[i];
    if (frame.entry != entry || frame.number != counts_.Entries(entry)) continue;
    if (!at_frame_(program, i, sp)) return AtEntry::kLetGo;
    for (const FrameEntry& inner : frames_)
      if (inner.number && inner.gate == i) program.Arm(inner.entry);
    --left_;
  }
  return left_ == 0 ? AtEntry::kLetGo : AtEntry::kGoOn;
}

}  // namespace recrash
