// Which entries of a watched function are worth a snapshot, and which functions are left alone for a while.
//
// A function that comes too often, or ends before two snapshots could be taken, rests: its stub counts entries down
// and calls nobody. It is armed again after a time that doubles, or when the count is through.
//
// - Second chance: functions of a profile. Each gets its next snapshot after a time in which it alone would spend half
//   of the budget.
// - First chance (adaptive): any function, so by benefit. What is likely to be live at a random moment is what lives
//   long: a snapshot is taken where the budget's bucket stands above cap * (1 - log30(inclusive time / cost of a
//   snapshot)), so that a function which lives for 30 snapshots or longer may take the last of it and, the longer it
//   lives, overdraw; of which nothing is known, above 60 % of the cap.
//
// Measured by a prototype on 27 crashes of cppcheck, at 1 % of CPU: fixed counts (the first K entries) go blind in long
// runs, plain buckets spend themselves on short functions; by benefit each crash had a live snapshot in the failing
// file, and 95 % of random moments.
//
// Signal-safe; plain arithmetic on times that the caller brings, in nanoseconds. Several threads may come at once: they
// may lose a count, and nothing else.
#ifndef RECRASH_AGENT_CLIENT_RECORD_POLICY_H_
#define RECRASH_AGENT_CLIENT_RECORD_POLICY_H_

#include <stdint.h>

#include "agent/client/record/budget.h"
#include "shadowstack/abi.h"
#include "shadowstack/log_format.h"

namespace recrash::record {

// Since the function reached the recorder last.
struct Interval {
  uint64_t entries;  // this one included
  uint64_t length;
};

// What the bucket holds, and what a snapshot costs now.
struct Purse {
  int64_t level;
  int64_t cap;
  uint64_t cost;
  bool unfinished;  // the last one was broken off: what it has copied is soon written again, and would be lost
};

class Policy {
 public:
  static constexpr uint32_t kMostRate = 300;  // entries a second
  static constexpr uint64_t kFirstRest = 250 * kMillisecond;
  static constexpr uint8_t kMostBackOff = 8;  // 64 s
  // Nobody else may come by who could arm it again: so many entries are 65 us of stubs, and then it looks itself.
  static constexpr int32_t kMostSkipped = 1 << 16;

  // Notes an entry that has come to the recorder; `left` is the stub's counter.
  RECRASH_SIGNAL_SAFE static Interval Reach(LogFunction& function, int32_t left, uint64_t now);

  // How long a call of it took, at most.
  RECRASH_SIGNAL_SAFE static void Learn(LogFunction& function, uint64_t inclusive);
  // So many, one after the other, took no longer than the interval.
  RECRASH_SIGNAL_SAFE static void Learn(LogFunction& function, const Interval& interval) {
    const uint64_t each = interval.length / interval.entries;
    if (each < function.inclusive_ns) Learn(function, each);
  }

  // First chance. `nested`: a call of it is live, so that coming again soon says nothing.
  RECRASH_SIGNAL_SAFE bool WorthIt(LogFunction& function, const Interval& interval, bool nested, const Purse& purse,
                                   uint64_t now);

  // Second chance.
  RECRASH_SIGNAL_SAFE static bool IsDue(const LogFunction& function, uint64_t now) {
    return now >= function.rest_until_ns;
  }
  RECRASH_SIGNAL_SAFE static void Delay(LogFunction& function, uint64_t now, uint64_t cost, uint32_t percent);

  // What the counter is to be set to.
  RECRASH_SIGNAL_SAFE static int32_t Skipped(const LogFunction& function, const Interval& interval, uint64_t now);

  // The entries themselves took `cost` while the budget gave `income`: more than half of it, and fewer may come.
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

// Where the bucket has to stand, in 1/1000 of its cap.
RECRASH_SIGNAL_SAFE int64_t NeededPermille(uint64_t inclusive, const Purse& purse);

}  // namespace recrash::record

#endif  // RECRASH_AGENT_CLIENT_RECORD_POLICY_H_
