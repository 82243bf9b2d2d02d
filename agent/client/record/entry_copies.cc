#include "agent/client/record/entry_copies.h"

#include <string.h>

#include <algorithm>

#include "agent/base/signal_safe/left_out.h"
#include "agent/base/signal_safe/own_memory.h"

namespace recrash::record {
namespace {

using signal_safe::CopyOwnAnyhow;
using signal_safe::ReadOwnAnyhow;

// The return address, and arguments beyond the sixth behind it.
constexpr uint64_t kArgumentArea = 128;
// Copied around a pointer if no allocator knows its size.
constexpr uint64_t kGranule = 256;
constexpr uint64_t kLargestBlock = 64 << 10;
constexpr uint32_t kBetweenClocks = 16;  // blocks, or pointers, of a few system calls each
// One frame may take this part of the memory for all.
constexpr uint32_t kFramesAtLeast = 16;

}  // namespace

void FallBackToCopies(LogHeader& log, uint32_t depth) {
  uint64_t word = 0;
  if (depth == 0) return;
  if (Fails("copies") || ReadOwnAnyhow(log.start, &word, sizeof word) != sizeof word) {
    log.stop = Stop::kNoCopies;
    return;
  }
  log.copy_depth = depth;
  log.why_copies = log.stop;
  log.stop = Stop::kNone;
}

// ---- What is in reach ----------------------------------------------------------------------------------------------

bool EntryCopies::IsNew(uint64_t start) {
  uint32_t slot = static_cast<uint32_t>((start / 8 * 0x9e3779b97f4a7c15ull) >> 51) % kSlots;
  while (seen_[slot] != 0) {
    if (seen_[slot] == start) return false;
    slot = (slot + 1) % kSlots;
  }
  if (block_count_ == kMostBlocks) {
    cut_ = 1;
    return false;
  }
  seen_[slot] = start;
  return true;
}

void EntryCopies::Add(const Block& block) {
  if (IsNew(block.start)) blocks_[block_count_++] = block;
}

// Copies aligned pieces, so that many pointers into one object do not copy it many times.
void EntryCopies::FollowGranules(uint64_t word, uint64_t low, uint64_t high) {
  const uint64_t first = word & ~(kGranule - 1);
  for (uint64_t granule = first; granule < high && granule <= first + kGranule; granule += kGranule) {
    const uint64_t start = granule < low ? low : granule;
    Add({start, std::min(granule + kGranule, high) - start});
  }
}

void EntryCopies::Follow(uint64_t word) {
  const LogRange* const range = FindHolding(mappings_->ranges, mappings_->count, word);
  if (range == nullptr || (!LeftOut("late") && IsLate())) return;
  // Below the stack pointer the program has nothing; the recorder runs there.
  const bool is_stack = range->start <= sp_ && sp_ < range->end;
  const uint64_t low = is_stack ? sp_ : range->start;
  if (word < low) return;
  const bool may_be_heap = !is_stack && range->of_file == 0 && !LeftOut("chunks");
  Block block = may_be_heap ? FindChunk(word, low, range->end) : Block{};
  if (block.size == 0) return FollowGranules(word, low, range->end);
  if (block.size > kLargestBlock) {
    cut_ = 1;
    const uint64_t end = block.start + block.size;
    if (word - block.start >= kLargestBlock) block.start = word & ~(kGranule - 1);
    block.size = std::min(end - block.start, kLargestBlock);
  }
  Add(block);
}

// ---- Copies --------------------------------------------------------------------------------------------------------

uint64_t& EntryCopies::At(uint64_t offset) const {
  auto* const page = static_cast<unsigned char*>(log_->Content(pages_[offset / kPage]));
  return *reinterpret_cast<uint64_t*>(page + offset % kPage);
}

// Takes pages for `size` more bytes. Returns false if the log has none left.
bool EntryCopies::Reserve(uint64_t size) {
  while (page_count_ * kPage < size_ + size) {
    const uint32_t page = log_->TakePage(number_);
    if (page == 0) return false;
    if (page_count_ != 0) log_->versions()[pages_[page_count_ - 1]].older = page;
    pages_[page_count_++] = page;
  }
  return true;
}

// Follows the words of the copy: the memory itself may have changed meanwhile.
Outcome EntryCopies::Copy(Block block, bool follow) {
  const uint64_t room = most_pages_ * kPage - size_;
  if (room < sizeof(LogCopy) + block.size) {
    cut_ = 1;
    if (room < 2 * sizeof(LogCopy)) return Outcome::kTaken;
    block.size = room - sizeof(LogCopy);
  }
  if (!Reserve(sizeof(LogCopy) + block.size)) return Outcome::kNoRoom;
  const uint64_t begin = size_ + sizeof(LogCopy);
  iovec pieces[kLargestBlock / kPage + 1];
  uint32_t count = 0;
  for (uint64_t done = 0; done < block.size; ++count) {
    const uint64_t at = begin + done;
    const uint64_t piece = std::min(kPage - at % kPage, block.size - done);
    pieces[count] = {&At(at), piece};
    done += piece;
  }
  const iovec from = {reinterpret_cast<void*>(block.start), block.size};
  const long got = CopyOwnAnyhow(&from, 1, pieces, count);
  if (got < 8) return Outcome::kTaken;  // gone, by another thread
  const uint64_t size = static_cast<uint64_t>(got) & ~uint64_t{7};
  if (size < block.size) cut_ = 1;
  At(size_) = block.start;
  At(size_ + 8) = size;
  size_ = begin + size;
  for (uint64_t at = begin; follow && at < size_; at += 8) Follow(At(at));
  return Outcome::kTaken;
}

// Past the deadline the rest is left out.
bool EntryCopies::IsLate() {
  if (is_late_ == 0 && ++looks_ % kBetweenClocks == 0 && ThreadTime() > deadline_) is_late_ = cut_ = 1;
  return is_late_ != 0;
}

// The argument area is the first block; blocks of the registers follow. What they point to has depth 1.
Outcome EntryCopies::CopyLevels() {
  uint32_t next = 0;
  for (uint32_t level = 0; level <= log_->header().copy_depth; ++level) {
    for (const uint32_t end = level == 0 ? 1 : block_count_; next < end; ++next) {
      const Outcome outcome = Copy(blocks_[next], level < log_->header().copy_depth);
      if (outcome != Outcome::kTaken) return outcome;
      if (IsLate()) return Outcome::kTaken;
    }
  }
  return Outcome::kTaken;
}

Outcome EntryCopies::Take(VersionLog& log, const LogMapList& mappings, const EntryRegisters& at, uint64_t deadline,
                          LogFrame& frame) {
  const uint32_t part = log.header().version_capacity / kFramesAtLeast;
  log_ = &log;
  mappings_ = &mappings;
  sp_ = at.sp;
  number_ = frame.number;
  deadline_ = deadline;
  most_pages_ = std::min(part, kMostCopyPages);
  cut_ = is_late_ = looks_ = page_count_ = block_count_ = 0;
  size_ = 0;
  memset(seen_, 0, sizeof seen_);
  const LogRange* const stack = FindHolding(mappings.ranges, mappings.count, at.sp);
  if (stack != nullptr) Add({at.sp, std::min(kArgumentArea, stack->end - at.sp)});
  for (const uint64_t word : at.integer) Follow(word);
  const Outcome outcome = CopyLevels();
  if (outcome == Outcome::kTaken) {
    frame.copies_cut = cut_;
    frame.copies = page_count_ != 0 ? pages_[0] : 0;
    frame.copy_bytes = static_cast<uint32_t>(size_);
    log.header().figures.pages_copied += page_count_;
  } else if (page_count_ != 0) {
    log.GivePages(pages_[0]);
  }
  return outcome;
}

}  // namespace recrash::record
