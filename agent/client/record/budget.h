// How much of the program's CPU time snapshots may take. It includes what they cause: faults on pages that were
// protected again, and counting of entries. policy.h decides which functions get it.
//
// All snapshots draw from one bucket. It fills with a part of the CPU time that the program uses, and holds at most the
// part of one second. It begins full, which is enough for a program that runs shortly. Debt is capped at three times
// what it holds: beyond that, faults dominate the cost and waiting does not help.
//
// Signal-safe; plain arithmetic on times that the caller brings.
#ifndef RECRASH_AGENT_CLIENT_RECORD_BUDGET_H_
#define RECRASH_AGENT_CLIENT_RECORD_BUDGET_H_

#include <stdint.h>

#include "shadowstack/abi.h"

namespace recrash::record {

constexpr uint64_t kSecond = 1000000000;
constexpr uint64_t kMillisecond = 1000000;

class CpuBudget {
 public:
  // `used`: CPU time of the program so far. Returns the income since the last call.
  RECRASH_SIGNAL_SAFE uint64_t Fill(uint64_t used, uint32_t percent) {
    cap_ = static_cast<int64_t>(kSecond / 100 * percent);
    if (!begun_) level_ = cap_;
    begun_ = true;
    const uint64_t income = (used - seen_) / 100 * percent;
    seen_ = used;
    level_ += static_cast<int64_t>(income);
    if (level_ > cap_) level_ = cap_;
    return income;
  }
  // Holds more than half of the cap, by the last Fill; another thread may fill it meanwhile.
  RECRASH_SIGNAL_SAFE bool IsHalfFull() const { return level() > cap_ / 2; }
  RECRASH_SIGNAL_SAFE void Spend(uint64_t cost) {
    const int64_t left = level_ - static_cast<int64_t>(cost);
    __atomic_store_n(&level_, left < -3 * cap_ ? -3 * cap_ : left, __ATOMIC_RELAXED);
  }
  RECRASH_SIGNAL_SAFE int64_t level() const { return __atomic_load_n(&level_, __ATOMIC_RELAXED); }
  // Spends `cost`, but never below zero, or below the debt that there is.
  RECRASH_SIGNAL_SAFE void SpendUpTo(uint64_t cost) {
    const int64_t left = level_ - static_cast<int64_t>(cost), least = level_ < 0 ? level_ : 0;
    __atomic_store_n(&level_, left < least ? least : left, __ATOMIC_RELAXED);
  }
  int64_t cap() const { return cap_; }

 private:
  int64_t level_;
  int64_t cap_;
  uint64_t seen_;
  bool begun_;
};

}  // namespace recrash::record

#endif  // RECRASH_AGENT_CLIENT_RECORD_BUDGET_H_
