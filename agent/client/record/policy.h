// Which entries of a watched function are worth a snapshot, and which functions are left alone for a while.
//
// A function rests if it comes too often, or ends before two snapshots could be taken: its stub counts entries down
// without calling the recorder. It calls the recorder again after a time that doubles, or when the count is used up.
//
// - Second chance: the functions of a profile. After a snapshot a function waits until it alone would spend half of the
//   budget.
// - Adaptive: all functions, by benefit. The longer calls of a function last, the likelier one of them is live at a
//   random moment. A snapshot is taken if the budget's level is above
//     cap * (1 - log30(inclusive time of the function / cost of a snapshot)),
//   or above 60 % of the cap if nothing is known of the function. So a function that lasts for 30 snapshots may take
//   the last of the budget; one that lasts longer may overdraw it.
//
// Measured by a prototype on 27 crashes of cppcheck, at 1 % of CPU. Snapshots of the first K entries miss everything
// late in long runs. Taken whenever the budget allows, they are spent on short functions. By benefit each crash had a
// live snapshot in the failing file, and so had 95 % of random moments.
//
// Signal-safe; plain arithmetic on times in nanoseconds that the caller passes. Several threads may call at once: they
// may lose a count, nothing else.
#ifndef RECRASH_AGENT_CLIENT_RECORD_POLICY_H_
#define RECRASH_AGENT_CLIENT_RECORD_POLICY_H_

#include <stdint.h>

#include "agent/client/record/budget.h"
#include "shadowstack/abi.h"
#include "shadowstack/log_format.h"

namespace recrash::record {

// The time since the function called the recorder last.
struct Interval {
  uint64_t entries;  // this one included
  uint64_t length;
};

// The state of the budget, and the recent cost of a snapshot.
struct Purse {
  int64_t level;
  int64_t cap;
  uint64_t cost;
  bool unfinished;  // the last snapshot was broken off: what it copied will soon be written again, and be wasted
};

class Policy {
 public:
  static constexpr uint32_t kMostRate = 300;  // entries a second
  static constexpr uint64_t kFirstRest = 250 * kMillisecond;
  static constexpr uint8_t kMostBackOff = 8;  // 64 s
  // A resting function calls the recorder after so many entries, 65 us of stubs, even if no sweep has ended its rest.
  static constexpr int32_t kMostSkipped = 1 << 16;

  // Counts an entry that has reached the recorder; `left` is the stub's counter.
  RECRASH_SIGNAL_SAFE static Interval Reach(LogFunction& function, int32_t left, uint64_t now);

  // Learns from a call that took `inclusive` at most.
  RECRASH_SIGNAL_SAFE static void Learn(LogFunction& function, uint64_t inclusive);
  // Learns from the entries of an interval: their calls, one after the other, took no longer than it.
  RECRASH_SIGNAL_SAFE static void Learn(LogFunction& function, const Interval& interval) {
    const uint64_t each = interval.length / interval.entries;
    if (each < function.inclusive_ns) Learn(function, each);
  }

  // Adaptive: is this entry worth a snapshot? `nested`: another call of it is live, so that coming again soon says
  // nothing.
  RECRASH_SIGNAL_SAFE bool WorthIt(LogFunction& function, const Interval& interval, bool nested, const Purse& purse,
                                   uint64_t now);

  // Second chance: is the function due for a snapshot? Delay moves that on after one that took `cost`.
  RECRASH_SIGNAL_SAFE static bool IsDue(const LogFunction& function, uint64_t now) {
    return now >= function.rest_until_ns;
  }
  RECRASH_SIGNAL_SAFE static void Delay(LogFunction& function, uint64_t now, uint64_t cost, uint32_t percent);

  // Returns what to set the stub's counter to: so many entries are counted without calling the recorder.
  RECRASH_SIGNAL_SAFE static int32_t Skipped(const LogFunction& function, const Interval& interval, uint64_t now);

  // Lets fewer entries through if they alone took more than half of the income.
  RECRASH_SIGNAL_SAFE void Adjust(uint64_t cost, uint64_t income);
  uint32_t most_rate() const { return kMostRate >> strictness_; }

 private:
  static constexpr uint8_t kQuick = 8;    // times in a row
  static constexpr uint8_t kNested = 16;  // so many count as one
  static constexpr uint8_t kBrief = 8;

  RECRASH_SIGNAL_SAFE bool ComesTooOften(LogFunction& function, const Interval& interval, bool nested) const;
  RECRASH_SIGNAL_SAFE static void Rest(LogFunction& function, uint64_t now);

  uint32_t strictness_;
};

// The level that the budget needs for a snapshot, in 1/1000 of its cap.
RECRASH_SIGNAL_SAFE int64_t NeededPermille(uint64_t inclusive, const Purse& purse);

}  // namespace recrash::record

#endif  // RECRASH_AGENT_CLIENT_RECORD_POLICY_H_
