// The blocks of glibc's heap in recorded memory: where a block begins, how much room it has, whether it is in use.
//
//   const RecordedHeap heap(read, process.brk_start.value, process.brk_end.value);
//   if (const RecordedBlock* block = heap.Find(address); block && block->in_use) room = block->size;
//
// The heap is read from its start on, block after block; where it is corrupt, nothing behind that is known. Heaps of
// other threads' arenas are not read.
#ifndef RECRASH_TESTGEN_CARRY_RECORDED_HEAP_H_
#define RECRASH_TESTGEN_CARRY_RECORDED_HEAP_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace recrash {

// Copies recorded bytes; false if one of them was not kept.
using ReadMemory = std::function<bool(uint64_t address, std::span<uint8_t> out)>;

std::optional<uint64_t> ReadWord(const ReadMemory& read, uint64_t address);

struct RecordedBlock {
  uint64_t address = 0;  // what malloc returned
  uint64_t size = 0;     // that can be used
  bool in_use = true;
};

// What malloc makes of a request.
uint64_t UsableSize(uint64_t requested);

class RecordedHeap {
 public:
  RecordedHeap(const ReadMemory& read, uint64_t start, uint64_t end);

  // The block that the address lies in, or null.
  const RecordedBlock* Find(uint64_t address) const;
  // Whether the address lies between the first block and the last one.
  bool Covers(uint64_t address) const;
  const std::vector<RecordedBlock>& blocks() const { return blocks_; }

 private:
  void ReadBlocks(uint64_t start, uint64_t end);
  void ReadCache();

  const ReadMemory& read_;
  std::vector<RecordedBlock> blocks_;
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_CARRY_RECORDED_HEAP_H_
