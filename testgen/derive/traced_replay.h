// One replay of a frame, traced from before its call on.
#ifndef RECRASH_TESTGEN_DERIVE_TRACED_REPLAY_H_
#define RECRASH_TESTGEN_DERIVE_TRACED_REPLAY_H_

#include <cstddef>

#include "agent/base/result.h"
#include "testgen/rerun/rounds.h"
#include "testgen/verify/replays.h"

namespace recrash {

// Replays the frame at `position` of the report. `seconds`: the time for one replay, stops at entries included.
// kRefused: it could not be traced.
Result<Verdict> RunTraced(Replays* replays, size_t position, const Start& start, double seconds, const Round& round);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_DERIVE_TRACED_REPLAY_H_
