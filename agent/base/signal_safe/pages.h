// Pages of memory, and the kernel's scan of page tables: PAGEMAP_SCAN of linux/fs.h, kernel 6.7 and later, newer than
// the headers of Debian 12. The scan skips what has no page tables, as most of the 20 TiB that AddressSanitizer
// reserves. Reading the pagemap of these would take minutes.
//
// Signal-safe, by system_call.h alone.
#ifndef RECRASH_AGENT_BASE_SIGNAL_SAFE_PAGES_H_
#define RECRASH_AGENT_BASE_SIGNAL_SAFE_PAGES_H_

#include <stdint.h>
#include <sys/ioctl.h>

#include "agent/base/signal_safe/system_call.h"

namespace recrash::signal_safe {

constexpr uint64_t kPage = 4096;

constexpr uint64_t PageDown(uint64_t value) { return value & ~(kPage - 1); }
constexpr uint64_t PageUp(uint64_t value) { return PageDown(value + kPage - 1); }

struct ScanArguments {
  uint64_t size, flags, start, end, walk_end, regions, region_count, max_pages;
  uint64_t inverted, all_of, any_of, returned;
};
struct ScanRegion {
  uint64_t start, end, categories;
};
static_assert(sizeof(ScanArguments) == 96 && sizeof(ScanRegion) == 24);
constexpr unsigned long kPagemapScan = _IOWR('f', 16, ScanArguments);
constexpr uint64_t kPageWritten = 1 << 1, kPagePresent = 1 << 3, kPageSwapped = 1 << 4;

// Puts the runs of pages in [at, end) that have content, and are as `scan` asks, into `regions`: at most `most`. Moves
// `at` to where the scan ended. Returns how many there are, or a negative errno.
RECRASH_SIGNAL_SAFE inline long ScanPages(int pagemap, uint64_t& at, uint64_t end, ScanRegion* regions, uint64_t most,
                                          ScanArguments scan = {}) {
  scan.size = sizeof scan;
  scan.start = at;
  scan.end = end;
  scan.regions = reinterpret_cast<uint64_t>(regions);
  scan.region_count = most;
  // An untouched page has neither.
  scan.any_of = kPagePresent | kPageSwapped;
  if (scan.returned == 0) scan.returned = scan.any_of;
  const long found = Call(SYS_ioctl, pagemap, kPagemapScan, &scan);
  if (found >= 0) at = scan.walk_end;
  return found;
}

}  // namespace recrash::signal_safe

#endif  // RECRASH_AGENT_BASE_SIGNAL_SAFE_PAGES_H_
