// The arguments that a replayed process hands to a function, compared with those that the frame had in the crash.
#ifndef RECRASH_TESTGEN_DERIVE_ARGUMENTS_H_
#define RECRASH_TESTGEN_DERIVE_ARGUMENTS_H_

#include <sys/types.h>

#include <optional>
#include <vector>

#include "agent/report/report.h"

namespace recrash {

// The frame's words as `process` has them, which stands at the function's first instruction. Vector registers are left
// as they are.
//
// An address may differ from the frame's: in a replay a block may lie elsewhere, and everything that points to it
// agrees. Another difference means that the process took another way: then there is no result. That holds for words
// that were recorded at the entry; other sources may give what became of an argument later.
std::optional<std::vector<ReplayWord>> ArgumentsAt(const Report& report, const ReplayFrame& frame, pid_t process);

// All registers of a stopped process; nothing if it cannot be asked.
std::optional<Registers> RegistersOf(pid_t process);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_DERIVE_ARGUMENTS_H_
