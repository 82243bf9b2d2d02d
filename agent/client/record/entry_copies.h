// Copies what the arguments of a function reach at its entry, to depth n. Used where the kernel tracks no writes.
//
// The types of arguments are not known here. So each aligned word that points into private writable memory is followed:
// in the six registers, in the stack's argument area, and in the copied bytes. For each pointer the allocator's block
// around it is copied (chunk.h), else the 256 bytes that it points into and the 256 after them. The nearest come first,
// so that a limit cuts off the deepest.
//
// The copies go into pages of the version log, a chain for each frame. Frames that have returned give theirs back.
//
// Signal-safe. All reads are by the kernel (own_memory.h): wild pointers do no harm.
#ifndef RECRASH_AGENT_CLIENT_RECORD_ENTRY_COPIES_H_
#define RECRASH_AGENT_CLIENT_RECORD_ENTRY_COPIES_H_

#include "agent/client/record/chunk.h"
#include "agent/client/record/page_copies.h"

namespace recrash::record {

// Write tracking was refused (`log.stop`): records copies to `depth` instead, if memory can be read.
RECRASH_SIGNAL_SAFE void FallBackToCopies(LogHeader& log, uint32_t depth);

class EntryCopies {
 public:
  // Copies for `frame`, entered at `at`; on kNoRoom it has none. `deadline` by ThreadTime().
  RECRASH_SIGNAL_SAFE Outcome Take(VersionLog& log, const LogMapList& mappings, const EntryRegisters& at,
                                   uint64_t deadline, LogFrame& frame);

 private:
  static constexpr uint32_t kMostBlocks = 4096;
  static constexpr uint32_t kSlots = 2 * kMostBlocks;

  RECRASH_SIGNAL_SAFE void Follow(uint64_t word);
  RECRASH_SIGNAL_SAFE void FollowGranules(uint64_t word, uint64_t low, uint64_t high);
  RECRASH_SIGNAL_SAFE void Add(const Block& block);
  RECRASH_SIGNAL_SAFE bool IsNew(uint64_t start);
  RECRASH_SIGNAL_SAFE bool IsLate();
  RECRASH_SIGNAL_SAFE Outcome CopyLevels();
  RECRASH_SIGNAL_SAFE Outcome Copy(Block block, bool follow);
  RECRASH_SIGNAL_SAFE bool Reserve(uint64_t size);
  RECRASH_SIGNAL_SAFE uint64_t& At(uint64_t offset) const;

  // Of the snapshot that is being taken.
  VersionLog* log_;
  const LogMapList* mappings_;
  uint64_t sp_;
  uint64_t number_;
  uint64_t deadline_;
  uint32_t is_late_;  // the deadline has passed
  uint32_t looks_;
  uint32_t cut_;
  uint32_t most_pages_;
  uint32_t page_count_;
  uint32_t block_count_;
  uint64_t size_;  // of what is in the pages
  uint32_t pages_[kMostCopyPages];
  Block blocks_[kMostBlocks];  // to copy, nearest first
  uint64_t seen_[kSlots];      // their starts, hashed
};

}  // namespace recrash::record

#endif  // RECRASH_AGENT_CLIENT_RECORD_ENTRY_COPIES_H_
