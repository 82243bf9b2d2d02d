// The heap of a crash, as glibc's malloc left it, and copies of an earlier moment laid over it: what is the allocator's
// own stays as it was, or the next allocation of a replay would end it.
//
// Told are the chunks of the main heap, up to the first that is damaged, and the main thread's cache of free blocks.
// Fast bins, the blocks of other arenas, and what has become part of a larger free block since, are not.
#ifndef RECRASH_AGENT_COLLECTOR_CRASH_HEAP_H_
#define RECRASH_AGENT_COLLECTOR_CRASH_HEAP_H_

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "agent/process/target_memory.h"
#include "agent/report/report.h"
#include "shadowstack/log_format.h"

namespace recrash {

class CrashHeap {
 public:
  CrashHeap(const PageSource& memory, const Report& report);

  using Put = std::function<void(uint64_t address, std::span<const uint8_t> bytes)>;
  // After `copies` were laid: puts back the heads of chunks and the links of free ones, and takes cached blocks that
  // have content again out of the cache.
  void Mend(std::vector<record::LogCopy> copies, const Put& put) const;

 private:
  struct Chunk {
    uint64_t start;
    uint64_t size;
    bool is_free;
  };

  uint64_t WordAt(uint64_t address) const;
  void FindChunks();
  void FindCache();
  void PutBack(uint64_t address, uint64_t size, const Put& put) const;
  void MendBin(size_t bin, const std::vector<record::LogCopy>& copies, const Put& put) const;

  uint64_t start_ = 0;
  std::vector<uint8_t> bytes_;
  std::vector<Chunk> chunks_;                 // ascending
  std::vector<std::vector<uint64_t>> cache_;  // blocks of each bin, in the order in which they are handed out
};

}  // namespace recrash

#endif  // RECRASH_AGENT_COLLECTOR_CRASH_HEAP_H_
