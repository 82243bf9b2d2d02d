// With which arguments a function is entered, beside those that a frame of the crash had.
#ifndef RECRASH_TESTGEN_DERIVE_ARGUMENTS_H_
#define RECRASH_TESTGEN_DERIVE_ARGUMENTS_H_

#include <sys/types.h>

#include <optional>
#include <vector>

#include "agent/report/report.h"

namespace recrash {

// The frame's words as they are in `process`, which stands at its function's first instruction. Where both are
// addresses they may differ: in a replay a block may lie elsewhere, and all that leads to it agrees. Nothing where a
// word differs that is no address. Of these only what was recorded at the frame's entry counts: other sources may tell
// what has become of an argument since. Vector registers are left as they are.
std::optional<std::vector<ReplayWord>> ArgumentsAt(const Report& report, const ReplayFrame& frame, pid_t process);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_DERIVE_ARGUMENTS_H_
