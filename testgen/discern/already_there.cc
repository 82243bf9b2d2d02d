#include "testgen/discern/already_there.h"

#include <algorithm>
#include <optional>

#include "testgen/verify/replays.h"

namespace recrash {
namespace {

// Of the frames inside, so many from the innermost one are called: whatever fails first is among them.
constexpr size_t kMostInner = 4;
constexpr double kSeconds = 2;
// Of memory in all calls together. A state is written into the plan once for each call from it.
constexpr uint64_t kMostBytes = 256ull << 20;

// A call of `inner` where `outer` begins.
struct Call {
  AlreadyThere asks;
  std::vector<ReplayWord> words;
  bool changed = false;  // arguments that `outer` has chosen are others
  bool failed = false;
};

bool IsSame(const ReplayWord& one, const ReplayWord& other) {
  return one.size == other.size && std::equal(one.bytes.begin(), one.bytes.begin() + one.size, other.bytes.begin());
}

bool IsZero(const ReplayWord& word) {
  return std::all_of(word.bytes.begin(), word.bytes.begin() + word.size, [](uint8_t byte) { return byte == 0; });
}

bool IsPointer(const Pointers& pointers, uint32_t frame, const ReplayWord& word) {
  const auto found = pointers.find(frame);
  return found != pointers.end() && found->second.contains(word.parameter);
}

// The words of a call of `inner` in which those that `outer` has chosen are others. Nothing if one of them is a null
// pointer: no other value says anything. An address that is not null leads into memory that was there already.
std::optional<std::vector<ReplayWord>> WithoutChoice(const ReplayFrame& outer, const ReplayFrame& inner,
                                                     const Pointers& pointers) {
  std::vector<ReplayWord> words = inner.words;
  for (ReplayWord& word : words) {
    const bool is_pointer = IsPointer(pointers, inner.index, word);
    if (is_pointer && !IsZero(word)) continue;
    if (std::ranges::any_of(outer.words, [&](const ReplayWord& given) { return IsSame(given, word); })) continue;
    if (is_pointer) return std::nullopt;
    const uint8_t other = IsZero(word) ? 1 : 0;
    word.bytes.fill(0);
    word.bytes[0] = other;
  }
  return words;
}

bool IsExact(const EntryState& state) { return state.copied_depth == 0 && !state.others_ran; }

// All calls that are made. Their frames are numbered by their place.
class Calls {
 public:
  Calls(const TestReport& report, const Pointers& pointers) : report_(report), pointers_(pointers) {}

  void Choose();
  bool empty() const { return calls_.empty(); }
  // The frames of the calls, and the state from which each is made, in the place of the report's.
  void PutInto(ReplayData* replay) const;
  // REQUIRES: the report has the calls.
  Status Make(const VerifyOptions& options);
  std::vector<AlreadyThere> Found() const;

 private:
  void ChooseInside(const ReplayFrame& outer);
  const ReplayFrame& FrameOf(uint32_t index) const {
    return *std::ranges::find(report_.replay.frames, index, &ReplayFrame::index);
  }

  const TestReport& report_;
  const Pointers& pointers_;
  std::vector<Call> calls_;
  uint64_t bytes_ = 0;
};

void Calls::Choose() {
  for (const ReplayFrame& outer : report_.replay.frames) {
    const EntryState* state = report_.replay.FindEntryState(outer.index);
    if (outer.start.from_entry && state && IsExact(*state) && outer.linkage_name != "main") ChooseInside(outer);
  }
}

void Calls::ChooseInside(const ReplayFrame& outer) {
  uint64_t size = 0;
  for (const EntryMemory::Layer& layer : report_.replay.FindEntryState(outer.index)->memory.layers())
    size += SizeOf(layer);
  size_t count = 0;
  for (const ReplayFrame& inner : report_.replay.frames) {
    if (inner.index >= outer.index || inner.needs_twin() || inner.start.rewind != 0) continue;
    if (count++ == kMostInner) return;
    const auto words = WithoutChoice(outer, inner, pointers_);
    if (!words || bytes_ + 2 * size > kMostBytes) continue;
    bytes_ += 2 * size;
    const AlreadyThere asks = {outer.index, inner.index};
    calls_.push_back({asks, inner.words});
    const bool same = std::ranges::equal(*words, inner.words, IsSame);
    if (!same) calls_.push_back({asks, *words, true});
  }
}

void Calls::PutInto(ReplayData* replay) const {
  std::vector<ReplayFrame> frames;
  std::vector<EntryState> states;
  for (size_t i = 0; i < calls_.size(); ++i) {
    const auto index = static_cast<uint32_t>(i);
    ReplayFrame& frame = frames.emplace_back(FrameOf(calls_[i].asks.inner));
    frame.index = index;
    frame.words = calls_[i].words;
    frame.start = {.from_entry = true, .sealed = FrameOf(calls_[i].asks.outer).start.sealed};
    EntryState& state = states.emplace_back(*report_.replay.FindEntryState(calls_[i].asks.outer));
    state.frame = index;
    state.arguments.clear();
  }
  replay->frames = std::move(frames);
  replay->entry_states = std::move(states);
}

Status Calls::Make(const VerifyOptions& options) {
  VerifyOptions quick = options;
  quick.seconds_per_frame = kSeconds;
  Result<Replays> replays = Replays::Prepare(report_, quick);
  if (!replays) return replays.error();
  std::vector<uint32_t> frames;
  for (const ReplayFrame& frame : report_.replay.frames) frames.push_back(frame.index);
  return replays->Run(frames, [&](size_t i, const Try* last) -> std::optional<Start> {
    if (!last) return report_.replay.frames[i].start;
    calls_[i].failed = last->verdict == Verdict::kReproduced;
    return std::nullopt;
  });
}

std::vector<AlreadyThere> Calls::Found() const {
  std::vector<AlreadyThere> found;
  for (size_t i = 0; i < calls_.size(); ++i) {
    const Call& call = calls_[i];
    if (call.changed || !call.failed) continue;
    const bool asked_twice = i + 1 < calls_.size() && calls_[i + 1].changed;
    if (asked_twice && !calls_[i + 1].failed) continue;
    if (found.empty() || found.back().outer != call.asks.outer) found.push_back(call.asks);
  }
  return found;
}

}  // namespace

Result<std::vector<AlreadyThere>> FindAlreadyThere(TestReport* report, const Pointers& pointers,
                                                   const VerifyOptions& options) {
  Calls calls(*report, pointers);
  calls.Choose();
  if (calls.empty()) return std::vector<AlreadyThere>();
  ReplayData& replay = report->replay;
  std::vector<ReplayFrame> frames = replay.frames;
  std::vector<EntryState> states = replay.entry_states;
  calls.PutInto(&replay);
  const Status made = calls.Make(options);
  replay.frames = std::move(frames);
  replay.entry_states = std::move(states);
  if (!made) return made.error();
  return calls.Found();
}

}  // namespace recrash
