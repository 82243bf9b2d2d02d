// All functions that were entered, looked through from time to time: what their entries cost is counted, those that
// have rested are armed again, and those that come so often that even their stubs cost something go back to their own
// entries for a while, by pages (patcher.h).
//
// At 4 ns an entry a program that enters 30 million functions a second would lose 12 % to stubs. A few hundred
// functions make up nearly all of that.
//
// Signal-safe. The recorder runs one at a time, at an entry: where nothing reaches it nothing is swept.
#ifndef RECRASH_AGENT_CLIENT_RECORD_SWEEP_H_
#define RECRASH_AGENT_CLIENT_RECORD_SWEEP_H_

#include <stddef.h>
#include <stdint.h>

#include "agent/client/record/policy.h"
#include "agent/client/record/version_log.h"
#include "shadowstack/abi.h"

namespace recrash::record {

// Leads the entries of these functions, by the addresses of their counters, ascending, to their stubs, or back. A bit
// for each that is as it should be. `alone`: no thread and no handler can stand between the first instructions of any.
using SwitchEntries = uint64_t (*)(const uint64_t* counters, size_t count, bool patched, bool alone);

class Sweep {
 public:
  // Soon after the beginning, then less often: at last four times a second; but soon where a function on probation
  // comes as often as before.
  RECRASH_SIGNAL_SAFE bool IsDue(uint64_t now) const { return now - last_ >= (hurry_ != 0 ? kMillisecond : period()); }
  RECRASH_SIGNAL_SAFE void Note(const LogFunction& function, uint64_t now) {
    if (function.place == Place::kProbation && now < function.rest_until_ns) hurry_ = 1;
  }

  // Returns what entries have cost since the last one. `percent` of CPU time are there for all that is recorded.
  RECRASH_SIGNAL_SAFE uint64_t Run(VersionLog& log, uint64_t now, uint32_t percent, bool alone,
                                   SwitchEntries switch_entries);

  // What one thread that was busy has brought in since.
  RECRASH_SIGNAL_SAFE int64_t IncomeSince(uint64_t now, uint32_t percent) const {
    return static_cast<int64_t>((now - last_) / 100 * percent);
  }

 private:
  static constexpr size_t kMost = 64;  // that change at once: 10 us for each that lies on a page of its own

  // Functions, in the order of their counters.
  struct List {
    size_t count;
    LogFunction* at[kMost];
    RECRASH_SIGNAL_SAFE void Add(LogFunction* function);
  };

  RECRASH_SIGNAL_SAFE void Look(LogFunction& function, uint64_t now, uint64_t hot);
  RECRASH_SIGNAL_SAFE void TakeOut(uint64_t now, SwitchEntries switch_entries);
  RECRASH_SIGNAL_SAFE void PutIn(uint64_t now, bool alone, SwitchEntries switch_entries);
  uint64_t period() const { return (4 * kMillisecond) << doublings_; }

  uint64_t last_;
  uint64_t reached_;
  uint32_t doublings_;
  uint32_t hurry_;
  uint32_t others_;   // functions that were entered in this period, and stay as they are
  uint64_t entries_;  // in this period
  List out_, in_;
};

}  // namespace recrash::record

#endif  // RECRASH_AGENT_CLIENT_RECORD_SWEEP_H_
