// Whether a function is entered with the arguments that a frame of the crash had.
#ifndef RECRASH_TESTGEN_DERIVE_ARGUMENTS_H_
#define RECRASH_TESTGEN_DERIVE_ARGUMENTS_H_

#include <sys/types.h>

#include "agent/report/report.h"

namespace recrash {

// `process` stands at the function's first instruction. Only what was recorded at the frame's entry counts, in general
// registers and on the stack: other sources may tell what has become of an argument since.
bool HasArgumentsOf(const ReplayFrame& frame, pid_t process);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_DERIVE_ARGUMENTS_H_
