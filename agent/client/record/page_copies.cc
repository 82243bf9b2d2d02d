#include "agent/client/record/page_copies.h"

#include <errno.h>
#include <string.h>

#include "agent/base/signal_safe/left_out.h"
#include "agent/base/signal_safe/own_memory.h"

namespace recrash::record {

using signal_safe::CopyOwnAnyhow;
using signal_safe::ScanPages;

namespace {

RECRASH_SIGNAL_SAFE long CopyPage(uint64_t page, void* content) {
  const iovec from = {reinterpret_cast<void*>(page), kPage}, to = {content, kPage};
  return CopyOwnAnyhow(&from, 1, &to, 1);
}

}  // namespace

// Copies the pages of the regions, at most kBatch.
Outcome PageCopies::CopyRegions(VersionLog& log, uint32_t count, uint64_t number) {
  iovec from[kBatch];
  uint64_t size = 0;
  for (uint32_t i = 0; i < count; ++i) {
    from[i] = {reinterpret_cast<void*>(regions_[i].start), regions_[i].end - regions_[i].start};
    size += from[i].iov_len;
  }
  // The kernel copies: it stops at what another thread has unmapped since, where a plain copy would crash.
  const iovec to = {contents_, size};
  const bool whole = CopyOwnAnyhow(from, count, &to, 1) == static_cast<long>(size);
  uint8_t(*content)[kPage] = contents_;
  for (uint32_t i = 0; i < count; ++i) {
    for (uint64_t page = regions_[i].start; page < regions_[i].end; page += kPage, ++content) {
      const long got = whole ? static_cast<long>(kPage) : CopyPage(page, content);
      const bool is_there = got == static_cast<long>(kPage);
      if (got < 0 && got != -EFAULT) {
        log.header().stop = Stop::kNotCopied;
        log.header().stop_error = static_cast<int32_t>(-got);
        return Outcome::kStopped;
      }
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
    const long count = tracking.TakeWritten(range, at, std::min(room, kBatch), regions_, kBatch);
    if (count == -EPERM) {
      // The range was mapped or moved since the last snapshot. If another thread has unmapped it already, it is
      // skipped. If somebody else watches it, nobody knows what it holds.
      if (number > 1 && LeftOut("new_mappings")) return Outcome::kTaken;
      const long error = tracking.Register(range);
      if (error == 0) continue;
      if (error != -EBUSY) return Outcome::kTaken;
      log.header().stop = Stop::kNotTracked;
      return Outcome::kStopped;
    }
    if (count < 0) return Outcome::kStopped;
    if (count == 0) continue;
    if (const Outcome outcome = CopyRegions(log, static_cast<uint32_t>(count), number); outcome != Outcome::kTaken)
      return outcome;
    // The next batch may take as long as this one.
    const uint64_t now = ThreadTime();
    if (at < range.end && now + (now - begun) > deadline) return Outcome::kPause;
  }
  return Outcome::kTaken;
}

Outcome PageCopies::FindPresent(const WriteTracking& tracking, const LogMapList& list, Runs& now) {
  now.count = 0;
  for (uint32_t i = 0; i < list.count; ++i) {
    for (uint64_t at = list.ranges[i].start; at < list.ranges[i].end;) {
      const long count = ScanPages(tracking.pagemap(), at, list.ranges[i].end, regions_, kBatch);
      if (count < 0) return Outcome::kStopped;
      for (long j = 0; j < count; ++j) {
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
      if (FindHolding(now.at, now.count, page) == nullptr) mark(page);
    });
    return outcome;
  }
  if (before.count == now.count && memcmp(before.at, now.at, now.count * sizeof(Run)) == 0) return outcome;
  uint32_t next = 0;
  for (uint32_t i = 0; i < before.count; ++i) {
    for (uint64_t page = before.at[i].start; page < before.at[i].end; page += kPage) {
      while (next < now.count && now.at[next].end <= page) ++next;
      if (next < now.count && page >= now.at[next].start)
        page = std::min(now.at[next].end, before.at[i].end) - kPage;
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
