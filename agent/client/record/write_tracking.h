// Finds the pages that the program has written since the last scan, by userfaultfd's asynchronous write protection and
// PAGEMAP_SCAN (Linux 6.7). The kernel lifts the protection of a page at its first write and notes that; a scan returns
// such pages and protects them again. No write waits for recrash. A read() into a protected page works, which with
// mprotect it would not.
//
// Signal-safe, by system_call.h alone.
#ifndef RECRASH_AGENT_CLIENT_RECORD_WRITE_TRACKING_H_
#define RECRASH_AGENT_CLIENT_RECORD_WRITE_TRACKING_H_

#include "agent/base/signal_safe/memory_maps.h"
#include "agent/base/signal_safe/pages.h"
#include "shadowstack/abi.h"
#include "shadowstack/log_format.h"

namespace recrash::record {

using signal_safe::ScanRegion;

class WriteTracking {
 public:
  // Opens the descriptors; `error` is errno if one is refused.
  RECRASH_SIGNAL_SAFE Stop Open(int& error);
  const int (&descriptors() const)[3] { return descriptors_; }
  int pagemap() const { return descriptors_[1]; }

  // Lists the private writable mappings, ascending, without the log. May return kTooManyMappings.
  RECRASH_SIGNAL_SAFE Stop ListMappings(const LogHeader& log, LogMapList& list) const;

  // Puts written pages of `range`, from `at` on and at most `pages`, into `regions`, protects them again, and moves
  // `at`. Returns how many regions there are, or a negative errno; -EPERM: the mapping is not watched.
  RECRASH_SIGNAL_SAFE long TakeWritten(const LogRange& range, uint64_t& at, uint32_t pages, ScanRegion* regions,
                                       uint32_t most) const;

  // Begins to watch a mapping; all its pages count as written.
  RECRASH_SIGNAL_SAFE long Register(const LogRange& range) const;

 private:
  RECRASH_SIGNAL_SAFE bool QueryMappings(const LogHeader& log, LogMapList& list, Stop& stop) const;

  int descriptors_[3];  // userfaultfd, /proc/self/pagemap, /proc/self/maps
};

}  // namespace recrash::record

#endif  // RECRASH_AGENT_CLIENT_RECORD_WRITE_TRACKING_H_
