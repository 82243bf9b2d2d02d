// The state of a stopped process, and how that differs from the report that the process left later.
#ifndef RECRASH_TESTGEN_RERUN_STOPPED_STATE_H_
#define RECRASH_TESTGEN_RERUN_STOPPED_STATE_H_

#include <sys/types.h>

#include <cstdint>

#include "agent/base/result.h"
#include "agent/report/report.h"

namespace recrash {

// The state of a process that stands at the entry of `frame`: all of its memory and mappings.
Result<EntryState> TakeState(pid_t pid, uint32_t frame);

// What of the state differs from the report, as an EntryState of that report has it.
EntryState DifferenceTo(const Report& report, EntryState state);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_RERUN_STOPPED_STATE_H_
