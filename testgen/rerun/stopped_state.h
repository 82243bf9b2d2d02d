// The state of a stopped process, and how that differs from the report that the process left later.
#ifndef RECRASH_TESTGEN_RERUN_STOPPED_STATE_H_
#define RECRASH_TESTGEN_RERUN_STOPPED_STATE_H_

#include "agent/base/result.h"
#include "agent/process/traced_program.h"
#include "agent/report/report.h"
#include "testgen/rerun/hit_counts.h"

namespace recrash {

// The state of a program one of whose threads stands at the entry of `frame`, with all of its memory and mappings.
Result<EntryState> TakeState(const TracedProgram& program, const FrameEntry& frame);

// The same with those pages and mappings alone that differ from the report.
EntryState DifferenceTo(const Report& report, EntryState state);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_RERUN_STOPPED_STATE_H_
