// Which entry of a function was the one that a frame of the crash began with.
//
// The last entry of a function with the frame's stack pointer is the live frame: earlier calls there have returned.
// Under ptrace an entry costs some 10 us. So a function that is entered often is counted only after an outer frame was
// entered (its gate).
#ifndef RECRASH_TESTGEN_RERUN_HIT_COUNTS_H_
#define RECRASH_TESTGEN_RERUN_HIT_COUNTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace recrash {

struct FrameEntry {
  uint32_t frame = 0;  // ReplayFrame::index
  uint64_t entry = 0;
  uint64_t sp = 0;
  uint64_t number = 0;         // of this function's entries, counted from 1; 0: not known
  std::optional<size_t> gate;  // counted from that one's entry on; index in the same vector
};

// Counts entries while a program runs.
class HitCounts {
 public:
  explicit HitCounts(uint64_t most) : most_(most) {}

  // False when the function has been entered too often to be counted on; it has no numbers then.
  bool Count(uint64_t entry, uint64_t sp);
  // The last entry with this stack pointer, or 0.
  uint64_t Last(uint64_t entry, uint64_t sp) const;
  uint64_t Entries(uint64_t entry) const;
  bool IsHot(uint64_t entry) const { return hot_.contains(entry); }

 private:
  uint64_t most_;
  std::map<uint64_t, uint64_t> entries_;
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> last_;
  std::set<uint64_t> hot_;
};

// Gives each frame of a hot function the nearest frame outside of all frames of that function whose number is known.
// `frames` are innermost first. True when there is one that can be counted now.
bool ChooseGates(const HitCounts& counts, std::vector<FrameEntry>* frames);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_RERUN_HIT_COUNTS_H_
