// Finds what is mapped, by mincore(), which fails where nothing is: for a process without /proc.
//
// Signal-safe, by system_call.h alone.
#ifndef RECRASH_AGENT_CLIENT_ADDRESS_SPACE_EXTENTS_H_
#define RECRASH_AGENT_CLIENT_ADDRESS_SPACE_EXTENTS_H_

#include <stdint.h>

#include "shadowstack/abi.h"

namespace recrash::client {

// Mapped memory without a gap.
struct Extent {
  uint64_t start;
  uint64_t end;
};

class Extents {
 public:
  static constexpr uint32_t kMost = 4096;

  RECRASH_SIGNAL_SAFE void Clear(uint64_t deadline);
  // Finds what is mapped around the address, if anything is. Returns true if it is new.
  RECRASH_SIGNAL_SAFE bool Look(uint64_t address);
  // Looks at each page that lies between two extents above `low`, or a little below the first of them: mappings lie
  // near each other there.
  RECRASH_SIGNAL_SAFE void LookBetween(uint64_t low);

  // Whether the time is.
  RECRASH_SIGNAL_SAFE bool IsOver();

  uint32_t count() const { return count_; }
  const Extent& at(uint32_t index) const { return extents_[index]; }
  bool is_cut() const { return cut_ != 0; }

 private:
  RECRASH_SIGNAL_SAFE uint32_t FirstBehind(uint64_t address) const;
  RECRASH_SIGNAL_SAFE uint64_t EndOf(uint64_t page);
  RECRASH_SIGNAL_SAFE uint64_t StartOf(uint64_t page);
  RECRASH_SIGNAL_SAFE void LookAtPages(uint64_t from, uint64_t to);

  Extent extents_[kMost];  // ascending
  uint32_t count_;
  uint32_t cut_;
  uint32_t looks_;
  uint64_t deadline_;
};

// The pages of [start, end) that have content, as flags, of at most `most` pages. Returns of how many it tells.
RECRASH_SIGNAL_SAFE uint32_t PagesWithContent(uint64_t start, uint64_t end, uint8_t* flags, uint32_t most);

}  // namespace recrash::client

#endif  // RECRASH_AGENT_CLIENT_ADDRESS_SPACE_EXTENTS_H_
