// Derives entry states: a frame that is replayed calls the frames inside it again, and
// their states are captured as they are entered (docs/explanations/derivation.md).
#ifndef RECRASH_TESTGEN_DERIVE_DERIVE_H_
#define RECRASH_TESTGEN_DERIVE_DERIVE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "agent/base/result.h"
#include "agent/report/report.h"
#include "testgen/verify/verify.h"

namespace recrash {

// Where a frame is met whose call is known there alone, in a replay of a frame outside: an inlined one where its call
// begins, in the middle of the function around; one whose arguments the crash has lost at its entry.
struct MetEntry {
  TargetAddress at;
  TargetAddress sp;
  // Arguments may get a place only later in the call.
  std::vector<TargetAddress> later = {};
  // Where the call may begin if a replay does not come to `at`.
  std::vector<TargetAddress> others = {};
};

struct EntryInTwin {
  uint32_t frame = 0;
  TargetAddress address;
};

// A frame that was seen to reproduce, not from an entry state.
struct ReproducedFrame {
  uint32_t frame = 0;
  Start start;
};

struct DeriveOptions {
  VerifyOptions replay;
  double seconds = 30;  // for one replay, stops at entries included
  std::map<uint32_t, MetEntry> met;
  // The words of a call of such a frame, from the registers where it is met, then later in that call, and the state
  // where it is met; if `twin` is not null, also from the twin's process, which stands at the function's first
  // instruction. kRefused: one of them is not known.
  std::function<Result<std::vector<ReplayWord>>(uint32_t frame, std::span<const Registers>, const EntryState&,
                                                const Report* twin)>
      call_where_met = {};
  // The entries of the frames' functions in a process of the twin, replay.twin. Null: it is not asked.
  std::function<std::vector<EntryInTwin>(const Report& twin)> entries_in_twin = {};
  // The replays of these lead to the frames inside as well, after those from entry states, in this order.
  std::vector<ReproducedFrame> reproduced = {};
};

struct Derivation {
  std::vector<EntryState> states;           // sorted by frame, with their arguments
  std::map<uint32_t, std::string> reasons;  // why a frame has none, in one clause
};

// Derives a state for each frame in `frames` (ReplayFrame::index) that lacks one and has a caller whose state was
// recorded, else one that reproduces otherwise; tries the nearest caller first.
// REQUIRES: options.replay.program is the build that crashed.
// An error: nothing can be replayed at all.
Result<Derivation> DeriveEntryStates(const TestReport& report, const std::vector<uint32_t>& frames,
                                     const DeriveOptions& options);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_DERIVE_DERIVE_H_
