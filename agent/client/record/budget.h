// How much of the program's CPU time snapshots may take, with all that they bring about: writes to pages that are
// protected again, entries that are counted. Which functions get it is policy.h's.
//
// All together draw from a bucket that fills with the CPU time that the program uses; what it can hold at most is the
// budget of one second, so that a program that has just begun has some, and a short one enough. It may be overdrawn, by
// three times as much at most: then what costs is not the snapshots, and to wait for longer would not make it cheaper.
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
  // `used`: CPU time of the program so far. Returns what that gives.
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
  // More than half of what it can hold, as of the last time that somebody asked; that may be another thread, just now.
  RECRASH_SIGNAL_SAFE bool IsHalfFull() const { return level() > cap_ / 2; }
  RECRASH_SIGNAL_SAFE void Spend(uint64_t cost) {
    const int64_t left = level_ - static_cast<int64_t>(cost);
    __atomic_store_n(&level_, left < -3 * cap_ ? -3 * cap_ : left, __ATOMIC_RELAXED);
  }
  RECRASH_SIGNAL_SAFE int64_t level() const { return __atomic_load_n(&level_, __ATOMIC_RELAXED); }
  // What is spent whether it is there or not, and no reason to overdraw.
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
