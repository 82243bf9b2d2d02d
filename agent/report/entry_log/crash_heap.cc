#include "agent/report/entry_log/crash_heap.h"

#include <algorithm>
#include <cstring>

#include "agent/base/signal_safe/left_out.h"

namespace recrash {
namespace {

using record::LogCopy;

constexpr uint64_t kMostBytes = 256 << 20;
constexpr uint64_t kFlags = 7;
constexpr uint64_t kPreviousInUse = 1;
constexpr uint64_t kHead = 16;   // of a chunk: the size of a free one before it, and its own
constexpr uint64_t kLinks = 32;  // of a free one: two lists
// The cache is the first block of the heap (glibc 2.30 and later): counts, and the first block of each size.
constexpr size_t kBins = 64;
constexpr uint64_t kEntries = kBins * sizeof(uint16_t);
constexpr uint64_t kCacheChunk = kHead + kEntries + kBins * sizeof(uint64_t);

bool Overlap(const std::vector<LogCopy>& copies, uint64_t start, uint64_t end) {
  const auto after = std::ranges::lower_bound(copies, end, {}, &LogCopy::address);
  return std::any_of(copies.begin(), after, [&](const LogCopy& copy) { return copy.address + copy.size > start; });
}

template <typename T>
void PutValue(uint64_t address, T value, const CrashHeap::Put& put) {
  put(address, {reinterpret_cast<const uint8_t*>(&value), sizeof value});
}

}  // namespace

CrashHeap::CrashHeap(const PageSource& memory, const Report& report) {
  const uint64_t start = (report.process.brk_start.value + 15) & ~uint64_t{15};
  const uint64_t end = report.process.brk_end.value;
  if (start == 0 || end <= start) return;
  is_known_ = end - start <= kMostBytes && !Fails("heap");
  if (!is_known_) return;
  start_ = start;
  bytes_.resize(end - start);
  bytes_.resize(memory.Read({start}, bytes_));
  is_known_ = !bytes_.empty();
  FindChunks();
  FindCache();
}

uint64_t CrashHeap::WordAt(uint64_t address) const {
  uint64_t word = 0;
  if (address >= start_ && address - start_ + sizeof word <= bytes_.size())
    std::memcpy(&word, bytes_.data() + (address - start_), sizeof word);
  return word;
}

// A chunk says of the one before it whether that is in use; the last one is what is left of the heap.
void CrashHeap::FindChunks() {
  const uint64_t end = start_ + bytes_.size();
  for (uint64_t at = start_; end - at >= kHead;) {
    const uint64_t size = WordAt(at + 8) & ~kFlags;
    if (size < kHead || size % 16 != 0 || size > end - at) return;
    const bool is_last = end - at - size < kHead;
    chunks_.push_back({at, size, is_last || (WordAt(at + size + 8) & kPreviousInUse) == 0});
    at += size;
  }
}

void CrashHeap::FindCache() {
  if (chunks_.empty() || chunks_[0].size != kCacheChunk) return;
  const uint64_t cache = start_ + kHead;
  for (size_t bin = 0; bin < kBins; ++bin) {
    const size_t count = WordAt(cache + bin / 4 * 8) >> (bin % 4 * 16) & 0xffff;
    std::vector<uint64_t>& blocks = cache_.emplace_back();
    // Links are kept with the upper bits of their own address.
    for (uint64_t block = WordAt(cache + kEntries + bin * 8);
         block > start_ && block - start_ < bytes_.size() && blocks.size() < count; block = WordAt(block) ^ block >> 12)
      blocks.push_back(block);
  }
}

void CrashHeap::PutBack(uint64_t address, uint64_t size, const Put& put) const {
  put(address, std::span(bytes_).subspan(address - start_, std::min(size, start_ + bytes_.size() - address)));
}

// Leaves out blocks that have content again. A block that was free at the entry as well is left out without harm.
void CrashHeap::MendBin(size_t bin, const std::vector<LogCopy>& copies, const Put& put) const {
  std::vector<uint64_t> left = cache_[bin];
  const uint64_t size = bin * 16 + 24;
  std::erase_if(left, [&](uint64_t block) { return Overlap(copies, block, block + size); });
  if (left.size() == cache_[bin].size()) return;
  const uint64_t cache = start_ + kHead;
  PutValue(cache + bin * sizeof(uint16_t), static_cast<uint16_t>(left.size()), put);
  PutValue(cache + kEntries + bin * sizeof(uint64_t), left.empty() ? 0 : left[0], put);
  for (size_t i = 0; i < left.size(); ++i)
    PutValue(left[i], (i + 1 < left.size() ? left[i + 1] : 0) ^ left[i] >> 12, put);
}

void CrashHeap::Mend(std::vector<LogCopy> copies, const Put& put) const {
  std::ranges::sort(copies, {}, &LogCopy::address);
  for (const Chunk& chunk : chunks_) {
    if (!Overlap(copies, chunk.start, chunk.start + chunk.size + 8)) continue;
    PutBack(chunk.start + 8, 8, put);
    if (!chunk.is_free) continue;
    PutBack(chunk.start + kHead, std::min(kLinks, chunk.size - kHead), put);
    if (chunk.start + chunk.size - start_ < bytes_.size()) PutBack(chunk.start + chunk.size, kHead, put);
  }
  if (cache_.empty()) return;
  if (Overlap(copies, start_, start_ + kCacheChunk)) PutBack(start_, kCacheChunk, put);
  for (size_t bin = 0; bin < kBins; ++bin) MendBin(bin, copies, put);
}

}  // namespace recrash
