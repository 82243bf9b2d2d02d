// Which pages the program has written since they were last asked for: userfaultfd's asynchronous write protection and
// PAGEMAP_SCAN (Linux 6.7). The kernel lifts the protection of a page at its first write and remembers that; a scan
// returns such pages and protects them again. No write waits for us, and a read() into a protected page works, as it
// does not with mprotect.
//
// Signal-safe, by system_call.h alone.
#ifndef RECRASH_AGENT_CLIENT_RECORD_WRITE_TRACKING_H_
#define RECRASH_AGENT_CLIENT_RECORD_WRITE_TRACKING_H_

#include "agent/base/signal_safe/memory_maps.h"
#include "agent/base/signal_safe/page_scan.h"
#include "shadowstack/abi.h"
#include "shadowstack/log_format.h"

namespace recrash::record {

using signal_safe::ScanRegion;

class WriteTracking {
 public:
  // Opens what is needed; `error` is errno where that is refused.
  RECRASH_SIGNAL_SAFE Stop Open(int& error);
  const int (&descriptors() const)[3] { return descriptors_; }

  // The private mappings that can be written now, ascending, without the log; kTooManyMappings.
  RECRASH_SIGNAL_SAFE Stop ListMappings(const LogHeader& log, LogMapList& list) const;

  enum class Scan { kDone, kMore, kNotRegistered, kFailed };
  // Written pages of `range` from `at` on, at most `pages` of them: into `regions`, protected again. `at` moves on.
  RECRASH_SIGNAL_SAFE Scan Written(const LogRange& range, uint64_t& at, uint32_t pages, ScanRegion* regions,
                                   uint32_t most, uint32_t& count) const;
  // The same of pages that are there, written or not.
  RECRASH_SIGNAL_SAFE Scan Present(const LogRange& range, uint64_t& at, ScanRegion* regions, uint32_t most,
                                   uint32_t& count) const;

  // Begins to watch a mapping. All its pages count as written then.
  RECRASH_SIGNAL_SAFE bool Register(const LogRange& range) const;

 private:
  RECRASH_SIGNAL_SAFE bool QueryMappings(const LogHeader& log, LogMapList& list, Stop& stop) const;

  int descriptors_[3];  // userfaultfd, /proc/self/pagemap, /proc/self/maps
};

}  // namespace recrash::record

#endif  // RECRASH_AGENT_CLIENT_RECORD_WRITE_TRACKING_H_
