#include "agent/client/record/write_tracking.h"

#include <errno.h>
#include <linux/userfaultfd.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "agent/base/signal_safe/left_out.h"
#include "agent/base/signal_safe/system_call.h"
#include "agent/client/watch/patcher.h"

namespace recrash::record {
namespace {

using signal_safe::Call;
using signal_safe::kPageWritten;
using signal_safe::Map;
using signal_safe::MapLines;
using signal_safe::ScanArguments;
using signal_safe::ScanPages;

// Newer than the headers of Debian 12.
constexpr uint64_t kWriteProtectUnpopulated = 1 << 13;
constexpr uint64_t kWriteProtectAsync = 1 << 15;
constexpr int kUserModeOnly = 1;
constexpr uint64_t kScanAndProtect = 1;  // PM_SCAN_WP_MATCHING
constexpr uint64_t kFailUnwatched = 2;   // PM_SCAN_CHECK_WPASYNC
constexpr int kPopulateRead = 22;        // MADV_POPULATE_READ
// The most that a module's data takes. Larger mapped files are input: their pages are kept once they are written.
constexpr uint64_t kLargestData = 16 << 20;

// PROCMAP_QUERY, Linux 6.11: a mapping without the text, 1 us instead of 5.
struct MapQuery {
  uint64_t size, flags, address, start, end, map_flags, page_size, offset, inode;
  uint32_t device_major, device_minor, name_size, build_id_size;
  uint64_t name, build_id;
};
static_assert(sizeof(MapQuery) == 104);
constexpr unsigned long kMapQuery = _IOWR('f', 17, MapQuery);
constexpr uint64_t kQueryWritable = 2, kQueryNext = 16, kQueriedShared = 8;

// Moves the descriptor out of the program's way: its open() gets the lowest free number, as it would without recrash.
int MoveUp(int descriptor) {
  if (descriptor < 0) return descriptor;
  rlimit limit = {};
  Call(SYS_prlimit64, 0, RLIMIT_NOFILE, nullptr, &limit);
  const uint64_t high = limit.rlim_cur > 1024 ? 1020 : limit.rlim_cur > 8 ? limit.rlim_cur - 4 : 0;
  const long moved = Call(SYS_fcntl, descriptor, F_DUPFD_CLOEXEC, high);
  if (moved < 0) return descriptor;
  Call(SYS_close, descriptor);
  return static_cast<int>(moved);
}

int OpenHigh(const char* path) {
  return MoveUp(static_cast<int>(Call(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC)));
}

// Appends a mapping that is the program's: neither the log nor counters of entries. Returns false if the list is full.
bool Append(const LogHeader& log, const LogRange& range, LogMapList& list) {
  if (range.start < log.start + log.size && log.start < range.end) return true;
  if (watch::IsEntryCounters(range.start)) return true;
  if (list.count == kMostRanges || Fails("map_list")) return false;
  list.ranges[list.count++] = range;
  return true;
}

}  // namespace

Stop WriteTracking::Open(int& error) {
  for (int& descriptor : descriptors_) descriptor = -1;
  descriptors_[2] = OpenHigh("/proc/self/maps");  // wanted without write tracking, too
  descriptors_[0] =
      Fails("userfaultfd") ? -EPERM : MoveUp(static_cast<int>(Call(SYS_userfaultfd, O_CLOEXEC | kUserModeOnly)));
  error = -descriptors_[0];
  if (descriptors_[0] < 0) return Stop::kNoUserfaultfd;
  uffdio_api api = {};
  api.api = UFFD_API;
  api.features = kWriteProtectAsync | kWriteProtectUnpopulated;
  error = static_cast<int>(-Call(SYS_ioctl, descriptors_[0], UFFDIO_API, &api));
  if (Fails("write_tracking")) error = EINVAL;
  if (error != 0) return Stop::kNoWriteTracking;
  descriptors_[1] = OpenHigh("/proc/self/pagemap");
  error = descriptors_[1] < 0 ? -descriptors_[1] : descriptors_[2] < 0 ? -descriptors_[2] : 0;
  return error != 0 ? Stop::kNoWriteTracking : Stop::kNone;
}

// Returns false if the kernel does not know the query.
bool WriteTracking::QueryMappings(const LogHeader& log, LogMapList& list, Stop& stop) const {
  list.count = 0;
  MapQuery query = {};
  for (;;) {
    const uint64_t next = query.end;
    query = {};
    query.size = sizeof query;
    query.flags = kQueryWritable | kQueryNext;
    query.address = next;
    if (const long error = Call(SYS_ioctl, descriptors_[2], kMapQuery, &query); error != 0) return error == -ENOENT;
    if ((query.map_flags & kQueriedShared) != 0) continue;
    if (!Append(log, {query.start, query.end, query.inode != 0}, list)) {
      stop = Stop::kTooManyMappings;
      return true;
    }
  }
}

Stop WriteTracking::ListMappings(const LogHeader& log, LogMapList& list) const {
  Stop stop = Stop::kNone;
  if (QueryMappings(log, list, stop)) return stop;
  list.count = 0;
  MapLines lines;
  for (Map map; lines.Next(map);) {
    if (!map.writable || map.shared) continue;
    if (!Append(log, {map.start, map.end, map.file}, list)) return Stop::kTooManyMappings;
  }
  if (list.count != 0) return Stop::kNone;
  return descriptors_[2] < 0 ? Stop::kNothingTells : Stop::kDescriptorsGone;
}

long WriteTracking::TakeWritten(const LogRange& range, uint64_t& at, uint32_t pages, ScanRegion* regions,
                                uint32_t most) const {
  ScanArguments scan = {};
  scan.flags = kScanAndProtect | kFailUnwatched;
  scan.max_pages = pages;
  scan.all_of = scan.returned = kPageWritten;  // as are untouched pages, which have no content
  return ScanPages(pagemap(), at, range.end, regions, most, scan);
}

long WriteTracking::Register(const LogRange& range) const {
  // A page of a file is not present until it is written, and then its earlier content is gone; so all are read in now.
  if (range.of_file != 0 && !LeftOut("populate") && range.end - range.start <= kLargestData)
    Call(SYS_madvise, range.start, range.end - range.start, kPopulateRead);
  uffdio_register watch = {};
  watch.range.start = range.start;
  watch.range.len = range.end - range.start;
  watch.mode = UFFDIO_REGISTER_MODE_WP;
  return Fails("register") ? -EBUSY : Call(SYS_ioctl, descriptors_[0], UFFDIO_REGISTER, &watch);
}

}  // namespace recrash::record
