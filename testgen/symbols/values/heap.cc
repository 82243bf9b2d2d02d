#include "testgen/symbols/values/heap.h"

#include <algorithm>

namespace recrash {
namespace {

constexpr size_t kMaxChunks = 1 << 20;
constexpr uint64_t kHeader = 16;  // of which the second half holds the size; the first belongs to the block before
constexpr uint64_t kSmallest = 32;
constexpr uint64_t kMarks = 7;              // the size's low bits: the one before is in use, from mmap, other arena
constexpr uint64_t kOtherMarks = 6;         // none of them is set in the main arena
constexpr uint64_t kLargestInLists = 0x80;  // larger blocks are in no list that is not known (global_max_fast)
// The thread cache of the first thread is the heap's first block: 64 counts of two bytes, then 64 lists.
constexpr uint64_t kCacheSize = 0x290, kCacheLists = 64, kCacheCounts = 128;

}  // namespace

void GlibcHeap::Read() {
  is_read_ = true;
  const Process& process = memory_.report().process;
  const uint64_t begin = (process.brk_start.value + 15) & ~uint64_t{15};
  const uint64_t end = process.brk_end.value;
  std::vector<Chunk> chunks;
  for (uint64_t at = begin; begin != 0 && at < end;) {
    const auto word = memory_.ReadWord({at + 8});
    const uint64_t size = word ? *word & ~kMarks : 0;
    if (!word || (*word & kOtherMarks) != 0 || size < kSmallest || size % 16 != 0 || size > end - at) return;
    chunks.push_back({at, size, (*word & 1) != 0});
    if (chunks.size() > kMaxChunks) return;
    at += size;
  }
  chunks_ = std::move(chunks);
  if (!chunks_.empty()) ReadFreed();
}

void GlibcHeap::ReadFreed() {
  if (chunks_[0].size != kCacheSize) return;
  const TargetAddress cache = {chunks_[0].header + kHeader};
  const uint64_t begin = chunks_[0].header, end = chunks_.back().header;
  for (uint64_t list = 0; list < kCacheLists; ++list) {
    const auto count = memory_.ReadNumber(cache + 2 * list, 2);
    auto block = memory_.ReadWord(cache + kCacheCounts + 8 * list);
    for (uint64_t i = 0; count && block && i < *count; ++i) {
      if (*block < begin || *block >= end || *block % 16 != 0 || !freed_.insert(*block).second) break;
      if (const auto mark = memory_.ReadWord({*block + 8})) freed_mark_ = *mark;
      const auto next = memory_.ReadWord({*block});
      // Since glibc 2.32 the pointer to the next one is hidden by the address at which it lies.
      const uint64_t plain = next ? *next ^ (*block >> 12) : 0;
      block = next && plain % 16 == 0 && (plain == 0 || (plain >= begin && plain < end)) ? plain : next;
    }
  }
}

BlockState GlibcHeap::StateOf(size_t index) const {
  if (index + 1 == chunks_.size()) return BlockState::kUnused;
  const Chunk& chunk = chunks_[index];
  const uint64_t start = chunk.header + kHeader;
  if (!chunks_[index + 1].before_in_use || freed_.contains(start)) return BlockState::kFreed;
  if (freed_mark_ != 0 && memory_.ReadWord({start + 8}) == freed_mark_) return BlockState::kFreed;
  // Another thread has a cache of its own, and its mark is not known if this one's is empty.
  const bool sure = chunk.size > kLargestInLists && (freed_mark_ != 0 || memory_.report().threads.size() == 1);
  return sure ? BlockState::kLive : BlockState::kUnknown;
}

std::optional<HeapBlock> GlibcHeap::BlockAt(TargetAddress address) {
  if (!is_read_) Read();
  auto next = std::ranges::upper_bound(chunks_, address.value, {}, &Chunk::header);
  if (next == chunks_.begin() || address.value >= chunks_.back().header + chunks_.back().size) return std::nullopt;
  auto chunk = next - 1;
  HeapBlock block;
  const uint64_t into = address.value - chunk->header;
  // A block may use the first half of the next one's header.
  if (into < kHeader) {
    if (chunk == chunks_.begin()) return std::nullopt;
    --chunk;
    if (into > 8) block.past_end = into - 8;  // a pointer to the very end is one that loops compare with
  }
  block.start = {chunk->header + kHeader};
  block.size = chunk->size - 8;
  block.state = StateOf(static_cast<size_t>(chunk - chunks_.begin()));
  return block;
}

}  // namespace recrash
