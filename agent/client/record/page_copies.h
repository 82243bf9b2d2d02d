// Takes the memory of one snapshot: copies pages that were written into the log, and marks pages that are gone.
//
// Signal-safe. A page is protected again only if there is room for its content. So a snapshot that is broken off, at
// the longest pause or because the log is full, loses nothing: its copies count for the next snapshot, and the pages
// that it did not reach still count as written.
#ifndef RECRASH_AGENT_CLIENT_RECORD_PAGE_COPIES_H_
#define RECRASH_AGENT_CLIENT_RECORD_PAGE_COPIES_H_

#include <algorithm>

#include "agent/base/signal_safe/clock.h"
#include "agent/client/record/version_log.h"
#include "agent/client/record/write_tracking.h"

namespace recrash::record {

enum class Outcome { kTaken, kPause, kNoRoom, kStopped };

// This thread's CPU time, by which pauses are measured. By wall-clock time a busy machine, where the scheduler runs
// others meanwhile, would break off every snapshot.
RECRASH_SIGNAL_SAFE inline uint64_t ThreadTime() { return signal_safe::Nanoseconds(CLOCK_THREAD_CPUTIME_ID); }

// Returns the one of `count` ranges, ascending, that holds `address`; null: none does.
template <typename Range>
RECRASH_SIGNAL_SAFE const Range* FindHolding(const Range* ranges, uint32_t count, uint64_t address) {
  const auto ends_later = [](uint64_t at, const Range& range) { return at < range.end; };
  const Range* const range = std::upper_bound(ranges, ranges + count, address, ends_later);
  return range != ranges + count && range->start <= address ? range : nullptr;
}

class PageCopies {
 public:
  // Copies what was written in the mappings of `list` since the last call; `deadline` by ThreadTime().
  RECRASH_SIGNAL_SAFE Outcome Take(VersionLog& log, const WriteTracking& tracking, const LogMapList& list,
                                   uint64_t number, uint64_t deadline);

 private:
  static constexpr uint32_t kBatch = 64;  // pages
  static constexpr uint32_t kMostRuns = 1 << 15;

  struct Run {
    uint64_t start;
    uint64_t end;
  };
  struct Runs {
    uint32_t count;
    Run at[kMostRuns];
  };

  RECRASH_SIGNAL_SAFE Outcome CopyRange(VersionLog& log, const WriteTracking& tracking, const LogRange& range,
                                        uint64_t number, uint64_t deadline);
  RECRASH_SIGNAL_SAFE Outcome CopyRegions(VersionLog& log, uint32_t count, uint64_t number);
  RECRASH_SIGNAL_SAFE Outcome FindPresent(const WriteTracking& tracking, const LogMapList& list, Runs& now);
  RECRASH_SIGNAL_SAFE Outcome MarkAbsent(VersionLog& log, const Runs& now, uint64_t number);

  ScanRegion regions_[kBatch];
  alignas(kPage) uint8_t contents_[kBatch][kPage];
  Runs runs_[2];
  uint32_t last_;     // index into runs_ of the last complete snapshot's
  uint32_t copied_;   // pages, by this snapshot
  uint32_t recheck_;  // a snapshot was broken off since: runs_ does not match the log
};

}  // namespace recrash::record

#endif  // RECRASH_AGENT_CLIENT_RECORD_PAGE_COPIES_H_
