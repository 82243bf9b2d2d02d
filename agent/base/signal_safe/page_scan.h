// The layout of the kernel's scan of page tables: PAGEMAP_SCAN of linux/fs.h, kernel 6.7 and later, newer than the
// headers of Debian 12. It skips what has no page tables, as most of the 20 TiB that AddressSanitizer reserves, whose
// pagemap takes minutes to read.
#ifndef RECRASH_AGENT_BASE_SIGNAL_SAFE_PAGE_SCAN_H_
#define RECRASH_AGENT_BASE_SIGNAL_SAFE_PAGE_SCAN_H_

#include <stdint.h>
#include <sys/ioctl.h>

namespace recrash::signal_safe {

struct ScanArguments {
  uint64_t size, flags, start, end, walk_end, regions, region_count, max_pages;
  uint64_t inverted, all_of, any_of, returned;
};
struct ScanRegion {
  uint64_t start, end, categories;
};
static_assert(sizeof(ScanArguments) == 96 && sizeof(ScanRegion) == 24);
constexpr unsigned long kPagemapScan = _IOWR('f', 16, ScanArguments);
constexpr uint64_t kPageWriteTracked = 1 << 0, kPageWritten = 1 << 1, kPagePresent = 1 << 3, kPageSwapped = 1 << 4;

}  // namespace recrash::signal_safe

#endif  // RECRASH_AGENT_BASE_SIGNAL_SAFE_PAGE_SCAN_H_
