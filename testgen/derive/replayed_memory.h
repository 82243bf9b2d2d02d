// The program's memory in a process that replays one of its frames, without what the replay brought along.
//
// A replay's process has mappings of its own: launcher, replay library, plan. The program's memory there holds words
// that belong to this process: what the loader bound, the thread's number, the agent's state. All of these are in place
// when the call begins. So the process is read twice, when the call begins and at the inner entry. What changed in
// between is the program's doing, and is laid over the state that the replay started from; the rest is as recorded.
#ifndef RECRASH_TESTGEN_DERIVE_REPLAYED_MEMORY_H_
#define RECRASH_TESTGEN_DERIVE_REPLAYED_MEMORY_H_

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "agent/base/result.h"
#include "agent/report/pages.h"
#include "agent/report/report.h"

namespace recrash {

class ReplayedMemory {
 public:
  ReplayedMemory(ReplayedMemory&&) = default;
  ReplayedMemory(const ReplayedMemory&) = delete;

  // REQUIRES: `process` is stopped before the call of `outer`, and its memory is that of `state`.
  // kRefused: the program does not lie at its recorded addresses.
  static Result<ReplayedMemory> AtBegin(const Report& report, const ReplayFrame& outer, const EntryState& state,
                                        pid_t process);

  // REQUIRES: the same process is stopped at the entry of `frame`.
  // The result holds what differs from the crash, as every entry state.
  Result<EntryState> StateAt(pid_t process, uint32_t frame) const;

 private:
  ReplayedMemory(const Report& report, const ReplayFrame& outer, const EntryState& state);

  const uint8_t* Recorded(uint64_t page) const;
  void Merge(uint64_t page, const uint8_t* now, uint8_t* merged) const;
  std::vector<Region> Changed(const Pages& now, const std::vector<Mapping>& programs,
                              const std::vector<TargetAddress>& not_loaded) const;
  TargetAddress BreakOf(const std::vector<Mapping>& mappings) const;
  std::vector<TargetAddress> StillNotLoaded(const Pages& now) const;
  bool IsIn(const std::vector<TargetAddress>& modules, uint64_t address) const;

  const Report* report_;
  const ReplayFrame* outer_;
  const EntryState* state_;
  std::vector<Mapping> known_;   // private writable ones of the report and the state
  std::vector<Mapping> others_;  // the replay's own
  std::vector<OpenFile> files_;  // these and what follows: at the begin
  std::vector<Region> memory_;
  Pages begin_;     // of memory_
  Pages crash_;     // of the report
  Pages recorded_;  // of the state, over the report's
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_DERIVE_REPLAYED_MEMORY_H_
