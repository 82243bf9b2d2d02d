// The rounds in which a program is traced; it must do the same in each. First its entries are counted, those of hot
// functions after their gates. Then it is stopped at the entries with which the frames of the crash began.
//
// One round would have to read the memory at every entry that might be the last: that takes milliseconds, counting an
// entry some 10 us.
#ifndef RECRASH_TESTGEN_RERUN_ROUNDS_H_
#define RECRASH_TESTGEN_RERUN_ROUNDS_H_

#include <functional>
#include <vector>

#include "agent/process/traced_program.h"
#include "testgen/rerun/hit_counts.h"

namespace recrash {

// A function entered more often is counted from its gate on, and given up when that is too often too.
constexpr uint64_t kOften = 5000;
constexpr uint64_t kTooOften = 200000;

struct Round {
  TracedProgram::OnLoaded on_loaded;
  TracedProgram::OnEntry on_entry;
  TracedProgram::OnSignal on_signal = {};
};

// Counts the entries of the functions that `entries` gives for the program as it is loaded.
Round CountEntries(std::function<std::vector<uint64_t>(pid_t)> entries, HitCounts* counts);

// Gives frames without a number theirs, by the `counts` of a round before. Frames of hot functions are counted after
// their gates, in one more round that `run` makes.
Status NumberEntries(const HitCounts& counts, const std::function<Status(const Round&)>& run,
                     std::vector<FrameEntry>* frames);

// Meets the entry of each frame that has a number.
class VisitRound {
 public:
  // `at_frame` is called with the frame's place in `frames`; false ends the round. So does the last one.
  using AtFrame = std::function<bool(TracedProgram&, size_t frame, uint64_t sp)>;
  VisitRound(const std::vector<FrameEntry>& frames, AtFrame at_frame);
  Round round();
  size_t left() const { return left_; }

 private:
  AtEntry Entered(TracedProgram& program, uint64_t entry, uint64_t sp);

  const std::vector<FrameEntry>& frames_;
  AtFrame at_frame_;
  HitCounts counts_{UINT64_MAX};
  size_t left_;
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_RERUN_ROUNDS_H_
