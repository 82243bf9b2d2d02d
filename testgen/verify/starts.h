// Which Starts a frame is replayed from, and in which order. A policy alone: it looks at what was tried, replays
// nothing.
//
//   std::vector<Try> tries;
//   while (const std::optional<Start> start = NextStart(choices, tries)) tries.push_back(Replay(*start));
//   const Try& outcome = Standing(tries);
//
// A frame is tried, until it reproduces:
//   1. from its entry state, where there is an exact one;
//   2. from memory as at the crash;
//   3. the same, with the record's fields put back as on entry, at depth 1 and then 2, where the frame has such fields;
//   4. from its entry state, where that is approximate;
//   5. as in 2, with its streams rewound, where it is handed streams.
// All of that sealed. Where nothing reproduced and one of the tries looked for a file that may be there, all of it
// again unsealed; a frame that has not missed anything would do the same again. Where a try reproduced although it
// lacked a file that the dead process had, it is tried once more unsealed: it may have failed for want of that file,
// and would then fail after a fix as well.
//
// The memory of the crash holds the damage that the call itself had done. A fix that keeps it from being done does not
// take it away there: such a test stays red. So exact entry states come first.
//
// Fields come late because they mix two moments: over cppcheck's crashes they lost 42 frames and gained 2. Rewinding
// comes last because it assumes that nothing had been read on entry.
#ifndef RECRASH_TESTGEN_VERIFY_STARTS_H_
#define RECRASH_TESTGEN_VERIFY_STARTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "agent/report/report.h"
#include "recrash/replay.h"

namespace recrash {

// What the report has of a frame for its Starts.
struct Choices {
  uint8_t deepest = 0;           // depth of its deepest field
  bool has_entry_state = false;  // recorded or derived
  bool is_exact = false;         // that entry state
  bool only_from_entry = false;  // try its entry state alone
  uint64_t streams = 0;          // as in Start::rewind
};
Choices ChoicesOf(const ReplayData& replay, const ReplayFrame& frame);

// One replay of a frame and what became of it.
struct Try {
  Start start = {};
  Verdict verdict = Verdict::kCannotReplay;
  bool missed = false;  // sealed, it looked for a file that may be there when it is not sealed
  bool lacked = false;  // the same, and the dead process had that file
  double seconds = 0;
  std::string note = {};  // what happened instead, one line
};

// The Start to try next, given all tries of the frame so far, oldest first; none when its verdict stands.
std::optional<Start> NextStart(const Choices& choices, std::span<const Try> tries);

// The try whose verdict is the frame's: the last one. A rewound try counts only if it reproduced, and so does memory of
// the crash where an exact entry state was tried first. What reproduced without a file counts where it does not
// reproduce with it. REQUIRES: there is a try.
const Try& Standing(std::span<const Try> tries);

// Functions with so many frames that ran out of time that their other frames are not tried. A deep recursion may run
// for ever once its state has moved on. Each of its frames would then take all of its time, half an hour together;
// three of them tell as much.
class SlowFunctions {
 public:
  static constexpr int kMostTimedOut = 3;
  void Note(TargetAddress entry, Verdict verdict) { count_[entry] += HadNoEnd(verdict); }
  bool Has(TargetAddress entry) const {
    const auto found = count_.find(entry);
    return found != count_.end() && found->second >= kMostTimedOut;
  }

 private:
  std::map<TargetAddress, int> count_;  // frames that ran out of time, by their function's entry
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_VERIFY_STARTS_H_
