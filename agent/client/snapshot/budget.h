// How much of the program's CPU time snapshots may take, and which functions get it.
//
// Two bounds. All functions together draw from a bucket that fills with the CPU time that the program uses; what it can
// hold at most is the budget of one second, so that a program that has just begun has some, and a short one enough. And
// from where less than half of it is left, a function gets its next snapshot after a time in which it alone would spend
// half of the budget: by rate and never by life-time count, or a long run would go blind.
//
// Signal-safe; plain arithmetic on times that the caller brings.
#ifndef RECRASH_AGENT_CLIENT_SNAPSHOT_BUDGET_H_
#define RECRASH_AGENT_CLIENT_SNAPSHOT_BUDGET_H_

#include <stdint.h>

#include "shadowstack/abi.h"

namespace recrash::snapshot {

constexpr uint64_t kSecond = 1000000000;

// When a function may have its next snapshot. Functions that fall on one place share it.
class FunctionRates {
 public:
  RECRASH_SIGNAL_SAFE bool IsDue(uint64_t entry, uint64_t now) const { return now >= Place(entry); }
  RECRASH_SIGNAL_SAFE void Delay(uint64_t entry, uint64_t now, uint64_t cost, uint32_t percent) {
    if (percent < 100) Place(entry) = now + cost * 200 / (percent != 0 ? percent : 1);
  }

 private:
  static constexpr uint32_t kPlaces = 4096;
  uint64_t& Place(uint64_t entry) { return due_[(entry * 0x9e3779b97f4a7c15ull) >> 52]; }
  const uint64_t& Place(uint64_t entry) const { return due_[(entry * 0x9e3779b97f4a7c15ull) >> 52]; }

  uint64_t due_[kPlaces];
};

class CpuBudget {
 public:
  // `used`: CPU time of the program so far.
  RECRASH_SIGNAL_SAFE bool HasSome(uint64_t used, uint32_t percent) {
    const uint64_t most = kSecond / 100 * percent;
    if (!begun_) level_ = static_cast<int64_t>(most);
    begun_ = true;
    level_ += static_cast<int64_t>((used - seen_) / 100 * percent);
    seen_ = used;
    if (level_ > static_cast<int64_t>(most)) level_ = static_cast<int64_t>(most);
    return percent >= 100 || level_ > 0;
  }
  // More than half of what it can hold, as of the last time that somebody asked; that may be another thread, just now.
  RECRASH_SIGNAL_SAFE bool IsHalfFull(uint32_t percent) const {
    return __atomic_load_n(&level_, __ATOMIC_RELAXED) > static_cast<int64_t>(kSecond / 200 * percent);
  }
  RECRASH_SIGNAL_SAFE void Spend(uint64_t cost) {
    __atomic_store_n(&level_, level_ - static_cast<int64_t>(cost), __ATOMIC_RELAXED);
  }

 private:
  int64_t level_;
  uint64_t seen_;
  bool begun_;
};

}  // namespace recrash::snapshot

#endif  // RECRASH_AGENT_CLIENT_SNAPSHOT_BUDGET_H_
