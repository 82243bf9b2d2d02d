#include "agent/client/address_space/address_space.h"

#include <string.h>

#include <algorithm>

#include "agent/base/signal_safe/own_memory.h"
#include "agent/base/signal_safe/pages.h"
#include "agent/base/signal_safe/system_call.h"
#include "agent/client/address_space/rights.h"

namespace recrash::client {
namespace {

using signal_safe::Call;
using signal_safe::kPage;
using signal_safe::PageDown;
using signal_safe::PageUp;
using signal_safe::ReadOwnAnyhow;

constexpr uint32_t kPagesAtOnce = 1024;
constexpr uint32_t kPagesOfLarge = 4096;

RECRASH_SIGNAL_SAFE bool Holds(const Mapped& mapped, uint64_t address) {
  return mapped.start <= address && address < mapped.end;
}

}  // namespace

void AddressSpace::Begin(const LoadedAt& loaded, uint64_t stack, uint64_t deadline) {
  ListSegments(loaded, segments_);
  list_.Clear();
  extents_.Clear(deadline);
  split_count_ = 0;
  stack_ = stack;
  vdso_ = loaded.vdso;
  break_end_ = static_cast<uint64_t>(Call(SYS_brk, 0));
  memset(asked_, 0, sizeof asked_);
  for (uint32_t i = 0; i < segments_.count(); ++i) Use(segments_.at(i).start);
  Use(stack);
  Use(break_end_ - 1);
  Use(vdso_ - kPage);  // the clock's data
}

void AddressSpace::SetApart(uint64_t start, uint64_t size, bool withheld) {
  if (start == 0) return;
  segments_.Add({start, PageUp(start + size), 0, nullptr, MappedKind::kAnonymous, true, true, false, withheld});
  segments_.Sort();
  Use(start);
}

void AddressSpace::Use(uint64_t address) { extents_.Look(address); }

void AddressSpace::Find() {
  extents_.LookBetween(PageUp(break_end_));
  SplitNew();
  for (uint32_t i = 0; i < list_.count(); ++i) {
    const Mapped mapped = list_.at(i);
    if (mapped.readable && mapped.writable && !mapped.withheld) Follow(mapped);
  }
  list_.Sort();
  Name();
}

// Those that were found since.
void AddressSpace::SplitNew() {
  for (uint32_t i = 0; i < extents_.count(); ++i) {
    const Extent& extent = extents_.at(i);
    const auto is_it = [&extent](const Extent& other) { return other.start == extent.start; };
    if (std::any_of(split_, split_ + split_count_, is_it)) continue;
    split_[split_count_++] = extent;
    Split(extent);
  }
}

void AddressSpace::Split(const Extent& extent) {
  uint64_t at = extent.start;
  for (uint32_t i = segments_.FirstBehind(at); i < segments_.count() && segments_.at(i).start < extent.end; ++i) {
    SplitUnnamed(at, segments_.at(i).start);
    list_.Add(segments_.at(i));
    at = std::max(at, segments_.at(i).end);
  }
  SplitUnnamed(at, extent.end);
}

void AddressSpace::SplitUnnamed(uint64_t start, uint64_t end) {
  while (start < end && !is_cut()) {
    const uint64_t readable = TakeReadable(start, end);
    start = readable != start ? readable : TakeUnreadable(start, end);
  }
}

// Large parts without content may have been reserved alone: of these both ends are asked for.
uint64_t AddressSpace::TakeUnreadable(uint64_t start, uint64_t end) {
  static uint8_t has_content[kPagesOfLarge];
  constexpr uint64_t kLarge = kPagesOfLarge * kPage;
  uint64_t at = start + kPage;
  while (at < end && !extents_.IsOver() && ReadablePages(at, 1) == 0) {
    const bool is_large = at % kLarge == 0 && end - at >= kLarge && ReadablePages(at + kLarge - kPage, 1) == 0 &&
                          PagesWithContent(at, end, has_content, kPagesOfLarge) == kPagesOfLarge &&
                          memchr(has_content, 1, sizeof has_content) == nullptr;
    at += is_large ? kLarge : kPage;
  }
  list_.Add({start, at, 0, nullptr, MappedKind::kAnonymous, false, false, false, false});
  return at;
}

// One that may be written to as well, or one that may not. A page without content is as those before it.
uint64_t AddressSpace::TakeReadable(uint64_t start, uint64_t end) {
  static uint8_t has_content[kPagesAtOnce];
  bool is_known = false, writable = true;
  uint64_t at = start;
  const auto take = [&] {
    list_.Add({start, at, 0, nullptr, MappedKind::kAnonymous, true, writable, false, false});
    return at;
  };
  while (at < end && !extents_.IsOver()) {
    const auto wanted = static_cast<uint32_t>(std::min<uint64_t>((end - at) / kPage, kPagesAtOnce));
    // Before they are read, which gives them content.
    const uint32_t told = PagesWithContent(at, end, has_content, wanted);
    const uint32_t readable = ReadablePages(at, told);
    for (uint32_t i = 0; i < readable; ++i, at += kPage) {
      if ((has_content[i] & 1) == 0) continue;
      const bool is_writable = IsWritablePage(at);
      if (is_known && is_writable != writable) return take();
      is_known = true;
      writable = is_writable;
    }
    if (readable < wanted) break;
  }
  return take();
}

// Words that may be addresses lead to what lies far from everything else.
void AddressSpace::Follow(const Mapped& mapped) {
  static uint8_t has_content[kPagesAtOnce];
  static uint64_t words[kPage / sizeof(uint64_t)];
  for (uint64_t at = mapped.start; at < mapped.end && !is_cut();) {
    const uint32_t told = PagesWithContent(at, mapped.end, has_content, kPagesAtOnce);
    if (told == 0) return;
    for (uint32_t i = 0; i < told; ++i, at += kPage) {
      if ((has_content[i] & 1) == 0) continue;
      const uint64_t got = ReadOwnAnyhow(at, words, sizeof words) / sizeof words[0];
      for (uint64_t word = 0; word < got; ++word) FollowWord(words[word]);
    }
  }
}

void AddressSpace::FollowWord(uint64_t word) {
  uint64_t& asked = asked_[word / kPage % (sizeof asked_ / sizeof asked_[0])];
  if (asked == PageDown(word) + 1) return;
  asked = PageDown(word) + 1;
  if (extents_.Look(word)) SplitNew();
}

// The heap grew up to the break, from behind the program.
void AddressSpace::Name() {
  for (uint32_t i = 0; i < list_.count(); ++i) {
    Mapped& mapped = list_.at(i);
    if (mapped.kind != MappedKind::kAnonymous) continue;
    if (Holds(mapped, stack_)) mapped.kind = MappedKind::kStack;
    if (!mapped.readable && mapped.end == vdso_) mapped.kind = MappedKind::kVvar;
  }
  for (uint32_t i = list_.FirstBehind(break_end_ - 1); i < list_.count() && Holds(list_.at(i), break_end_ - 1); --i) {
    Mapped& mapped = list_.at(i);
    const uint32_t segment = segments_.FirstBehind(mapped.start);
    const bool is_of_module = segment < segments_.count() && Holds(segments_.at(segment), mapped.start);
    if (is_of_module || mapped.kind != MappedKind::kAnonymous) return;
    mapped.kind = MappedKind::kHeap;
    break_end_ = mapped.start;  // what lies before it without a gap
    if (i == 0) return;
  }
}

signal_safe::Map AsMap(const Mapped& mapped) {
  signal_safe::Map map = {};
  map.start = mapped.start;
  map.end = mapped.end;
  map.offset = mapped.offset;
  map.readable = mapped.readable;
  map.writable = mapped.writable;
  map.not_dumped = mapped.withheld;
  map.vdso = mapped.kind == MappedKind::kVdso;
  map.file = map.vdso || mapped.kind == MappedKind::kProgram || mapped.kind == MappedKind::kLibrary;
  return map;
}

}  // namespace recrash::client
