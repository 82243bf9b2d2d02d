#include "testgen/derive/traced_replay.h"

#include <unistd.h>

#include "agent/process/proc_files.h"
#include "agent/process/traced_program.h"

namespace recrash {
namespace {

// In seconds. The subject itself ends a replay whose time is over, and says so: it is waited for.
constexpr double kGrace = 5;

}  // namespace

Result<Verdict> RunTraced(Replays* replays, size_t position, const Start& start, double seconds, const Round& round) {
  Status traced = Error{Errc::kRefused, "it did not come to its call"};
  const auto trace = [&](pid_t process, const std::function<void()>& begin) {
    // The number stands in memory that the replay shares until it has its tracer.
    if (!IsDescendant(process, getpid())) return;
    TracedProgram program(round.on_loaded, round.on_entry, round.on_signal);
    const Result<int> status = program.Join(process, seconds + kGrace, begin);
    traced = status ? Status(Ok{}) : Status(status.error());
  };
  const Result<Try> outcome = replays->RunHeld(static_cast<uint32_t>(position), start, trace);
  if (!outcome) return outcome.error();
  if (!traced) return traced.error();
  return outcome->verdict;
}

}  // namespace recrash
