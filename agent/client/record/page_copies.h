// The memory of one snapshot: what was written goes into the log, what is not there any more is marked so.
//
// Signal-safe. A page is protected again only when there is room for its content, so a snapshot that is broken off, at
// the longest pause or where the log is full, loses nothing: what was copied counts for the next one, and what was not
// still counts as written.
#ifndef RECRASH_AGENT_CLIENT_RECORD_PAGE_COPIES_H_
#define RECRASH_AGENT_CLIENT_RECORD_PAGE_COPIES_H_

#include "agent/client/record/version_log.h"
#include "agent/client/record/write_tracking.h"

namespace recrash::record {

enum class Outcome { kTaken, kPause, kNoRoom, kStopped };

// This thread's CPU time. A pause is counted by it: what the scheduler gives to others meanwhile is not of our making,
// and by a clock on the wall a busy machine would break off every snapshot.
RECRASH_SIGNAL_SAFE uint64_t ThreadTime();

class PageCopies {
 public:
  // Copies what was written in `list` since the last time; `deadline` by ThreadTime().
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
  uint32_t last_;     // of runs_: those of the last snapshot that was complete
  uint32_t copied_;   // pages, by this snapshot
  uint32_t recheck_;  // one was broken off since: runs_ does not say what the log holds
};

}  // namespace recrash::record

#endif  // RECRASH_AGENT_CLIENT_RECORD_PAGE_COPIES_H_
