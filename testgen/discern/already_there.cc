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
  Status Make(const VerifyOptions& options);
  std::vector<AlreadyThere> Found() const;

 private:
  void ChooseInside(const ReplayFrame& outer);
  TestReport ReportOfCalls() const;
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

// The frames of the calls, each with the state from which it is made.
TestReport Calls::ReportOfCalls() const {
  TestReport all = report_;
  all.replay.frames.clear();
  all.replay.entry_states.clear();
  for (size_t i = 0; i < calls_.size(); ++i) {
    const auto index = static_cast<uint32_t>(i);
    ReplayFrame& frame = all.replay.frames.emplace_back(FrameOf(calls_[i].asks.inner));
    frame.index = index;
    frame.words = calls_[i].words;
    frame.start = {.from_entry = true, .sealed = FrameOf(calls_[i].asks.outer).start.sealed};
    EntryState& state = all.replay.entry_states.emplace_back(*report_.replay.FindEntryState(calls_[i].asks.outer));
    state.frame = index;
    state.arguments.clear();
  }
  return all;
}

Status Calls::Make(const VerifyOptions& options) {
  if (calls_.empty()) return Ok{};
  const TestReport all = ReportOfCalls();
  VerifyOptions quick = options;
  quick.seconds_per_frame = kSeconds;
  Result<Replays> replays = Replays::Prepare(all, quick);
  if (!replays) return replays.error();
  std::vector<uint32_t> frames;
  for (const ReplayFrame& frame : all.replay.frames) frames.push_back(frame.index);
  return replays->Run(frames, [&](size_t i, const Try* last) -> std::optional<Start> {
    if (!last) return all.replay.frames[i].start;
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

Result<std::vector<AlreadyThere>> FindAlreadyThere(const TestReport& report, const Pointers& pointers,
                                                   const VerifyOptions& options) {
  Calls calls(report, pointers);
  calls.Choose();
  if (const Status made = calls.Make(options); !made) return made.error();
  return calls.Found();
}

}  // namespace recrash
