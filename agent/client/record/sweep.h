// Looks through all functions that were entered, from time to time:
//  - It counts what their entries cost.
//  - It ends the rest of functions that have rested long enough.
//  - It takes out, for a while, functions that come so often that even their stubs are expensive. Their entries go back
//    to the compiled code, by pages (patcher.h).
//
// At 4 ns an entry a program that enters 30 million functions a second would lose 12 % to stubs. A few hundred
// functions make up nearly all of that.
//
// Signal-safe. It runs in the recorder, at an entry of a function: while no entry reaches the recorder, nothing is
// swept.
#ifndef RECRASH_AGENT_CLIENT_RECORD_SWEEP_H_
#define RECRASH_AGENT_CLIENT_RECORD_SWEEP_H_

#include <stddef.h>
#include <stdint.h>

#include "agent/client/record/policy.h"
#include "agent/client/record/version_log.h"
#include "shadowstack/abi.h"

namespace recrash::record {

// Switches the entries of functions to their stubs (`patched`) or back. `counters`: addresses of the functions'
// counters, ascending. Returns a bitmask: bit i is set if entry i was switched. `alone`: no thread and no signal
// handler can stand between the first instructions of any of them.
using SwitchEntries = uint64_t (*)(const uint64_t* counters, size_t count, bool patched, bool alone);

class Sweep {
 public:
  // Due every 4 ms at first, then less often, down to four times a second; at once when a function on probation comes
  // as often as before.
  RECRASH_SIGNAL_SAFE bool IsDue(uint64_t now) const { return now - last_ >= (hurry_ != 0 ? kMillisecond : period()); }
  RECRASH_SIGNAL_SAFE void Note(const LogFunction& function, uint64_t now) {
    if (function.place == Place::kProbation && now < function.rest_until_ns) hurry_ = 1;
  }

  // Returns what entries have cost since the last sweep. `percent`: of the CPU time, for all that is recorded.
  RECRASH_SIGNAL_SAFE uint64_t Run(VersionLog& log, uint64_t now, uint32_t percent, bool alone,
                                   SwitchEntries switch_entries);

  // What a thread that was busy since the last sweep has earned.
  RECRASH_SIGNAL_SAFE int64_t IncomeSince(uint64_t now, uint32_t percent) const {
    return static_cast<int64_t>((now - last_) / 100 * percent);
  }

 private:
  static constexpr size_t kMost = 64;  // switched in one sweep: 10 us for each that lies on a page of its own

  // Functions, in the order of their counters.
  struct List {
    size_t count;
    LogFunction* at[kMost];
    RECRASH_SIGNAL_SAFE void Add(LogFunction* function);
    RECRASH_SIGNAL_SAFE uint64_t Switch(bool patched, bool alone, SwitchEntries switch_entries) const;
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
