// A chunk of glibc's malloc begins 16 bytes before the block. It holds the size of the previous chunk, if that is free,
// and its own size: a multiple of 16, with three flags in the low bits. The block extends over the first word of the
// next chunk, whose flag says that this one is in use (also if it is in a thread's cache).
#include "agent/client/record/chunk.h"

#include "agent/base/signal_safe/own_memory.h"
#include "shadowstack/log_format.h"

namespace recrash::record {
namespace {

using signal_safe::ReadOwnAnyhow;

constexpr uint64_t kAlignment = 16;
constexpr uint64_t kFurthest = 256;
constexpr uint64_t kSmallest = 32;
constexpr uint64_t kLargest = uint64_t{1} << 40;
constexpr uint64_t kFlags = 7;
constexpr uint64_t kPreviousInUse = 1;
constexpr uint64_t kMapped = 2;

// Returns the block of the chunk that begins at `chunk`, by its two words, if there can be one.
Block BlockOf(uint64_t chunk, uint64_t before, uint64_t size_word, uint64_t high) {
  const uint64_t size = size_word & ~kFlags;
  const uint64_t start = chunk + 16;
  if (size < kSmallest || size % kAlignment != 0 || size > high - chunk) return {};
  if ((size_word & kMapped) != 0) {  // a mapping of its own, which nothing follows
    const bool is_one = before == 0 && chunk % kPage == 0 && size % kPage == 0;
    return is_one ? Block{start, size - 16} : Block{};
  }
  uint64_t next = 0;
  if (high - chunk - size < 16 || ReadOwnAnyhow(chunk + size + 8, &next, sizeof next) != sizeof next) return {};
  const bool is_one = (next & kPreviousInUse) != 0 && (next & ~kFlags) >= 16 && next < kLargest;
  return is_one ? Block{start, size - 8} : Block{};
}

}  // namespace

Block FindChunk(uint64_t address, uint64_t low, uint64_t high) {
  // Two words before each place where a block may begin.
  uint64_t words[kFurthest / 8 + 2];
  const uint64_t last = address & ~(kAlignment - 1);
  const uint64_t room = last - low;
  const uint64_t size = room < sizeof words ? room : sizeof words;
  if (size < 16 || ReadOwnAnyhow(last - size, words, size) != size) return {};
  for (uint64_t at = size / 8; at >= 2; at -= 2) {
    const uint64_t chunk = last - size + (at - 2) * 8;
    const Block block = BlockOf(chunk, words[at - 2], words[at - 1], high);
    if (block.size != 0 && address - block.start < block.size) return block;
  }
  return {};
}

}  // namespace recrash::record
