#include "testgen/carry/recorded_heap.h"

#include <algorithm>

namespace recrash {
namespace {

constexpr uint64_t kHeader = 16;
constexpr uint64_t kSmallest = 32;  // of a chunk, its header counted
constexpr uint64_t kFlags = 7;
constexpr uint64_t kPreviousInUse = 1;

// tcache_perthread_struct of glibc 2.30 and later, the first block of the heap.
constexpr uint64_t kCacheChunk = 0x290;
constexpr uint64_t kCacheLists = 64;
constexpr uint64_t kCacheEntries = kCacheLists * sizeof(uint16_t);
constexpr int kMostCached = 1024;

}  // namespace

std::optional<uint64_t> ReadWord(const ReadMemory& read, uint64_t address) {
  uint64_t word = 0;
  if (!read(address, {reinterpret_cast<uint8_t*>(&word), sizeof word})) return std::nullopt;
  return word;
}

uint64_t UsableSize(uint64_t requested) { return std::max(kSmallest, (requested + 8 + 15) / 16 * 16) - 8; }

RecordedHeap::RecordedHeap(const ReadMemory& read, uint64_t start, uint64_t end) : read_(read) {
  ReadBlocks((start + 15) / 16 * 16, end);
  ReadCache();
}

void RecordedHeap::ReadBlocks(uint64_t start, uint64_t end) {
  uint64_t chunk = start;
  while (chunk < end && end - chunk >= kSmallest) {
    const auto size_word = ReadWord(read_, chunk + 8);
    if (!size_word) break;
    const uint64_t size = *size_word & ~kFlags;
    if (size < kSmallest || size % 16 != 0 || size > end - chunk) break;
    if (!blocks_.empty() && !(*size_word & kPreviousInUse)) blocks_.back().in_use = false;
    blocks_.push_back({chunk + kHeader, size - 8, true});
    chunk += size;
  }
  // The last one is what malloc has not given out yet.
  if (!blocks_.empty()) blocks_.back().in_use = false;
}

// Blocks in the thread's cache count as in use for their neighbours.
void RecordedHeap::ReadCache() {
  if (blocks_.empty() || blocks_[0].size + 8 != kCacheChunk) return;
  for (uint64_t list = 0; list < kCacheLists; ++list) {
    auto entry = ReadWord(read_, blocks_[0].address + kCacheEntries + list * 8);
    for (int i = 0; i < kMostCached && entry && *entry; ++i) {
      const auto found = std::ranges::lower_bound(blocks_, *entry, {}, &RecordedBlock::address);
      if (found == blocks_.end() || found->address != *entry) break;
      found->in_use = false;
      const auto next = ReadWord(read_, *entry);
      entry = next ? std::optional(*next ^ (*entry >> 12)) : std::nullopt;  // "safe linking"
    }
  }
}

bool RecordedHeap::Covers(uint64_t address) const {
  return !blocks_.empty() && address >= blocks_.front().address &&
         address < blocks_.back().address + blocks_.back().size;
}

const RecordedBlock* RecordedHeap::Find(uint64_t address) const {
  auto after = std::ranges::upper_bound(blocks_, address, {}, &RecordedBlock::address);
  if (after == blocks_.begin()) return nullptr;
  const RecordedBlock& block = *--after;
  return address - block.address < block.size ? &block : nullptr;
}

}  // namespace recrash
