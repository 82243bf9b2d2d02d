// The heap of a crash, as glibc's malloc left it. When copies of an earlier moment are laid over it, the allocator's
// own words must stay as at the crash, or the next allocation of a replay would abort.
//
// Known: the chunks of the main heap, up to the first damaged one, and the main thread's cache of free blocks.
// Not known: fast bins, blocks of other arenas, and blocks that have become part of a larger free block.
#ifndef RECRASH_AGENT_REPORT_ENTRY_LOG_CRASH_HEAP_H_
#define RECRASH_AGENT_REPORT_ENTRY_LOG_CRASH_HEAP_H_

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "agent/report/page_source.h"
#include "agent/report/report.h"
#include "shadowstack/log_format.h"

namespace recrash {

class CrashHeap {
 public:
  CrashHeap(const PageSource& memory, const Report& report);

  using Put = std::function<void(uint64_t address, std::span<const uint8_t> bytes)>;
  // REQUIRES: the copies have been laid. Puts back the heads of chunks and the links of free ones, and takes blocks
  // that have content again out of the cache.
  void Mend(std::vector<record::LogCopy> copies, const Put& put) const;
  bool is_known() const { return is_known_; }  // false: there is one, but it could not be read

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
  bool is_known_ = true;
  std::vector<uint8_t> bytes_;
  std::vector<Chunk> chunks_;                 // ascending
  std::vector<std::vector<uint64_t>> cache_;  // blocks of each bin, in the order in which they are handed out
};

}  // namespace recrash

#endif  // RECRASH_AGENT_REPORT_ENTRY_LOG_CRASH_HEAP_H_
