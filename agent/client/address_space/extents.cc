#include "agent/client/address_space/extents.h"

#include <string.h>

#include <algorithm>

#include "agent/base/signal_safe/clock.h"
#include "agent/base/signal_safe/pages.h"
#include "agent/base/signal_safe/system_call.h"

namespace recrash::client {
namespace {

using signal_safe::Call;
using signal_safe::kPage;
using signal_safe::Nanoseconds;
using signal_safe::PageDown;

constexpr uint64_t kLow = 64 << 10;            // nothing is mapped below
constexpr uint64_t kHigh = uint64_t{1} << 47;  // nor above
constexpr uint32_t kPagesAtOnce = 4096;        // a byte of an answer each
constexpr uint64_t kMostGap = uint64_t{1} << 30;
constexpr uint64_t kBelow = 256 << 20;
constexpr uint8_t kNoAnswer = 0xff;

RECRASH_SIGNAL_SAFE bool IsMapped(uint64_t page) {
  uint8_t flag;
  return Call(SYS_mincore, page, kPage, &flag) == 0;
}

}  // namespace

uint32_t PagesWithContent(uint64_t start, uint64_t end, uint8_t* flags, uint32_t most) {
  const auto pages = static_cast<uint32_t>(std::min<uint64_t>((end - start) / kPage, most));
  memset(flags, kNoAnswer, pages);
  // The kernel answers up to the first page that is not mapped, then fails.
  if (Call(SYS_mincore, start, pages * kPage, flags) == 0) return pages;
  return static_cast<uint32_t>(std::find(flags, flags + pages, kNoAnswer) - flags);
}

void Extents::Clear(uint64_t deadline) {
  count_ = cut_ = looks_ = 0;
  deadline_ = deadline;
}

uint32_t Extents::FirstBehind(uint64_t address) const {
  const auto is_before = [](const Extent& extent, uint64_t at) { return extent.end <= at; };
  return static_cast<uint32_t>(std::lower_bound(extents_, extents_ + count_, address, is_before) - extents_);
}

bool Extents::IsOver() {
  constexpr uint32_t kBetweenClocks = 1024;
  if (cut_ == 0 && ++looks_ % kBetweenClocks == 0 && Nanoseconds(CLOCK_MONOTONIC) > deadline_) cut_ = 1;
  return cut_ != 0;
}

uint64_t Extents::EndOf(uint64_t page) {
  static uint8_t flags[kPagesAtOnce];
  while (page < kHigh && !IsOver()) {
    const uint32_t found = PagesWithContent(page, kHigh, flags, kPagesAtOnce);
    page += found * kPage;
    if (found < kPagesAtOnce) break;
  }
  return page;
}

// By steps that grow as long as all of one is mapped, and shrink from the first that is not.
uint64_t Extents::StartOf(uint64_t page) {
  static uint8_t flags[kPagesAtOnce];
  bool grows = true;
  for (uint64_t step = 1; step != 0 && !IsOver();) {
    const uint64_t size = step * kPage;
    if (page >= kLow + size && Call(SYS_mincore, page - size, size, flags) == 0) {
      page -= size;
      if (grows && step < kPagesAtOnce) step *= 2;
    } else {
      grows = false;
      step /= 2;
    }
  }
  return page;
}

bool Extents::Look(uint64_t address) {
  if (address < kLow || address >= kHigh) return false;
  const uint32_t place = FirstBehind(address);
  if (place < count_ && extents_[place].start <= address) return false;
  const uint64_t page = PageDown(address);
  if (!IsMapped(page)) return false;
  if (count_ == kMost) cut_ = 1;
  if (cut_ != 0) return false;
  const Extent found = {StartOf(page), EndOf(page)};
  memmove(&extents_[place + 1], &extents_[place], (count_ - place) * sizeof found);
  extents_[place] = found;
  ++count_;
  return true;
}

void Extents::LookAtPages(uint64_t from, uint64_t to) {
  for (uint64_t page = from; page < to && !IsOver(); page += kPage) {
    if (!Look(page)) continue;
    page = extents_[FirstBehind(page)].end;
  }
}

void Extents::LookBetween(uint64_t low) {
  uint32_t next = FirstBehind(low);
  if (next == count_) return;
  const uint64_t first = extents_[next].start;
  uint64_t from = std::max(low, first > kBelow ? first - kBelow : kLow);
  for (; next < count_; next = FirstBehind(from)) {
    const uint64_t to = extents_[next].start;
    if (from < to && to - from <= kMostGap) LookAtPages(from, to);
    from = extents_[FirstBehind(to)].end;
  }
}

}  // namespace recrash::client
