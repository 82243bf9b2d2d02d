// A replay of an outer frame in the twin, stopped where the functions of frames inside are entered.
//
//   TwinReplay replay(report, position, start, options, &replays_of_twin);
//   const Status met = replay.Visit({3, 5}, [&](uint32_t frame, const Report& process) { … });
#ifndef RECRASH_TESTGEN_DERIVE_TWIN_REPLAY_H_
#define RECRASH_TESTGEN_DERIVE_TWIN_REPLAY_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "agent/base/result.h"
#include "agent/report/report.h"
#include "testgen/derive/derive.h"
#include "testgen/derive/live_calls.h"
#include "testgen/rerun/hit_counts.h"
#include "testgen/rerun/rounds.h"
#include "testgen/verify/replays.h"

namespace recrash {

class TwinReplay {
 public:
  // The frame at `position` of the report is replayed as `start` says. `replays` are of the twin.
  TwinReplay(const TestReport& report, size_t position, const Start& start, const DeriveOptions& options,
             Replays* replays)
      : report_(report), position_(position), start_(start), options_(options), replays_(replays) {}

  // Calls `at` where each of `frames` is entered, with the twin's process as a report. Leaves out those that the twin
  // does not come to. kRefused: the twin does something else than the crash.
  Status Visit(const std::set<uint32_t>& frames, const std::function<void(uint32_t, const Report&)>& at);

 private:
  const ReplayFrame& outer() const { return report_.replay.frames[position_]; }
  Status Run(const Round& round, bool to_its_end);
  Status CountCalls();
  std::vector<FrameEntry> EntriesIn(pid_t process) const;
  LiveCall CallOf(uint32_t frame) const;

  const TestReport& report_;
  size_t position_;
  Start start_;
  const DeriveOptions& options_;
  Replays* replays_;
  std::vector<FrameEntry> entries_;  // of the frames from the outer one inwards, as the twin was loaded last
  LiveCalls calls_;
};

// The twin's process as a report: its modules and, if it stands at the instruction `pc`, its registers there and the
// memory that it may write. kRefused: that is too large.
Result<Report> ReportOf(pid_t process, const std::string& program, std::optional<TargetAddress> pc);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_DERIVE_TWIN_REPLAY_H_
