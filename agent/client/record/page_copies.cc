#include "agent/client/record/page_copies.h"

#include <string.h>
#include <sys/uio.h>
#include <time.h>

#include "agent/base/signal_safe/left_out.h"
#include "agent/base/signal_safe/system_call.h"

namespace recrash::record {
namespace {

using signal_safe::Call;

// The kernel copies: it stops at what another thread has unmapped since, where a plain copy would crash.
bool Copy(const iovec* from, uint64_t count, void* to, uint64_t size) {
  const iovec local = {to, size};
  return Call(SYS_process_vm_readv, Call(SYS_getpid), &local, 1, from, count, 0) == static_cast<long>(size);
}

bool CopyPage(uint64_t from, void* to) {
  const iovec page = {reinterpret_cast<void*>(from), kPage};
  return Copy(&page, 1, to, kPage);
}

}  // namespace

uint64_t ThreadTime() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000 + static_cast<uint64_t>(now.tv_nsec);
}

// Copies the pages of the regions, at most kBatch.
Outcome PageCopies::CopyRegions(VersionLog& log, uint32_t count, uint64_t number) {
  iovec from[kBatch];
  uint64_t size = 0;
  for (uint32_t i = 0; i < count; ++i) {
    from[i] = {reinterpret_cast<void*>(regions_[i].start), regions_[i].end - regions_[i].start};
    size += from[i].iov_len;
  }
  const bool whole = Copy(from, count, contents_, size);
  uint8_t(*content)[kPage] = contents_;
  for (uint32_t i = 0; i < count; ++i) {
    for (uint64_t page = regions_[i].start; page < regions_[i].end; page += kPage, ++content) {
      const bool is_there = whole || CopyPage(page, content);
      if (!log.Save(page, number, is_there ? content : nullptr)) return Outcome::kNoRoom;
      ++log.header().figures.pages_copied;
      ++copied_;
    }
  }
  return Outcome::kTaken;
}

Outcome PageCopies::CopyRange(VersionLog& log, const WriteTracking& tracking, const LogRange& range, uint64_t number,
                              uint64_t deadline) {
  for (uint64_t at = range.start; at < range.end;) {
    const uint32_t room = log.Room(kBatch);
    if (room == 0) return Outcome::kNoRoom;
    const uint64_t begun = ThreadTime();
    uint32_t count = 0;
    const auto scan = tracking.Written(range, at, room < kBatch ? room : kBatch, regions_, kBatch, count);
    if (scan == WriteTracking::Scan::kFailed) return Outcome::kStopped;
    if (scan == WriteTracking::Scan::kNotRegistered) {
      // The range was mapped or moved since the last snapshot. If another thread has unmapped it already, it is
      // skipped.
      if ((number > 1 && LeftOut("new_mappings")) || !tracking.Register(range)) return Outcome::kTaken;
      continue;
    }
    if (count == 0) continue;
    if (const Outcome outcome = CopyRegions(log, count, number); outcome != Outcome::kTaken) return outcome;
    // The next batch may take as long as this one.
    const uint64_t now = ThreadTime();
    if (scan == WriteTracking::Scan::kMore && now + (now - begun) > deadline) return Outcome::kPause;
  }
  return Outcome::kTaken;
}

Outcome PageCopies::FindPresent(const WriteTracking& tracking, const LogMapList& list, Runs& now) {
  now.count = 0;
  for (uint32_t i = 0; i < list.count; ++i) {
    for (uint64_t at = list.ranges[i].start; at < list.ranges[i].end;) {
      uint32_t count = 0;
      if (tracking.Present(list.ranges[i], at, regions_, kBatch, count) == WriteTracking::Scan::kFailed)
        return Outcome::kStopped;
      for (uint32_t j = 0; j < count; ++j) {
        Run* const last = now.count != 0 ? &now.at[now.count - 1] : nullptr;
        if (last != nullptr && last->end == regions_[j].start) {
          last->end = regions_[j].end;
          continue;
        }
        if (now.count == kMostRuns) return Outcome::kNoRoom;
        now.at[now.count++] = {regions_[j].start, regions_[j].end};
      }
    }
  }
  return Outcome::kTaken;
}

// Marks pages that were there and are gone: unmapped, or given back to the kernel (MADV_DONTNEED).
Outcome PageCopies::MarkAbsent(VersionLog& log, const Runs& now, uint64_t number) {
  const Runs& before = runs_[last_];
  Outcome outcome = Outcome::kTaken;
  if (LeftOut("absent")) return outcome;
  const auto mark = [&](uint64_t page) {
    if (log.Room(1) == 0 || !log.Save(page, number, nullptr)) outcome = Outcome::kNoRoom;
  };
  if (recheck_ != 0) {
    log.ForEachPresent([&](uint64_t page) {
      uint32_t low = 0;
      uint32_t high = now.count;
      while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (now.at[middle].end <= page)
          low = middle + 1;
        else
          high = middle;
      }
      if (low == now.count || page < now.at[low].start) mark(page);
    });
    return outcome;
  }
  if (before.count == now.count && memcmp(before.at, now.at, now.count * sizeof(Run)) == 0) return outcome;
  uint32_t next = 0;
  for (uint32_t i = 0; i < before.count; ++i) {
    for (uint64_t page = before.at[i].start; page < before.at[i].end; page += kPage) {
      while (next < now.count && now.at[next].end <= page) ++next;
      if (next < now.count && page >= now.at[next].start)
        page = (now.at[next].end < before.at[i].end ? now.at[next].end : before.at[i].end) - kPage;
      else
        mark(page);
    }
  }
  return outcome;
}

Outcome PageCopies::Take(VersionLog& log, const WriteTracking& tracking, const LogMapList& list, uint64_t number,
                         uint64_t deadline) {
  const uint32_t recheck_before = recheck_;
  recheck_ = !LeftOut("recheck");
  copied_ = 0;
  for (uint32_t i = 0; i < list.count; ++i) {
    // At least one batch each time, or the copy would never end.
    if (copied_ >= kBatch && ThreadTime() > deadline) return Outcome::kPause;
    const Outcome outcome = CopyRange(log, tracking, list.ranges[i], number, deadline);
    if (outcome != Outcome::kTaken) return outcome;
  }
  Runs& now = runs_[1 - last_];
  if (const Outcome outcome = FindPresent(tracking, list, now); outcome != Outcome::kTaken) return outcome;
  recheck_ = recheck_before;
  const Outcome outcome = MarkAbsent(log, now, number);
  recheck_ = outcome != Outcome::kTaken && !LeftOut("recheck");
  last_ = 1 - last_;
  return outcome;
}

}  // namespace recrash::record
