// Finds the block of glibc's heap that an address lies in, from the headers of the blocks in the report's memory.
//
//   GlibcHeap heap(memory);
//   if (const auto block = heap.BlockAt(address); block && block->state == BlockState::kFreed) ...
//
// Reads the main arena, which grows by brk. Its blocks lie one behind the other, from the break's start to its end. If
// they do not add up to exactly that (another allocator, a header that was overwritten, memory that was not kept),
// nothing is said of any block.
#ifndef RECRASH_TESTGEN_SYMBOLS_VALUES_HEAP_H_
#define RECRASH_TESTGEN_SYMBOLS_VALUES_HEAP_H_

#include <cstdint>
#include <optional>
#include <unordered_set>
#include <vector>

#include "testgen/symbols/files/report_memory.h"

namespace recrash {

enum class BlockState {
  kUnknown,  // in use, or freed to a list that is not known: such lists have small blocks only
  kLive,
  kFreed,
  kUnused,  // the rest of the heap, which no block has been cut from
};

struct HeapBlock {
  TargetAddress start;  // as malloc returned it
  uint64_t size = 0;    // that may be used; at least what was asked for
  BlockState state = BlockState::kUnknown;
  uint64_t past_end = 0;  // not 0: the address lies so far behind the block's last byte, in the next block's header
};

class GlibcHeap {
 public:
  explicit GlibcHeap(const ReportMemory& memory) : memory_(memory) {}
  std::optional<HeapBlock> BlockAt(TargetAddress address);

 private:
  struct Chunk {
    uint64_t header = 0;  // its address; the block begins 16 bytes further on
    uint64_t size = 0;
    bool before_in_use = false;  // the chunk before it
  };
  void Read();
  void ReadFreed();
  BlockState StateOf(size_t index) const;

  const ReportMemory& memory_;
  bool is_read_ = false;
  std::vector<Chunk> chunks_;           // by address; the last is unused. Empty if the heap is not as expected
  std::unordered_set<uint64_t> freed_;  // starts of blocks in the thread cache
  uint64_t freed_mark_ = 0;             // what each block in a thread cache has in its second word; 0: not known
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_VALUES_HEAP_H_
