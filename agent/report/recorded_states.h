// The entry states that a program recorded, by frame.
#ifndef RECRASH_AGENT_REPORT_RECORDED_STATES_H_
#define RECRASH_AGENT_REPORT_RECORDED_STATES_H_

#include <span>
#include <vector>

#include "agent/report/report.h"

namespace recrash {

// The state of the frame that began at `entry` with this stack pointer; null: none was kept.
const EntryState* FindState(std::span<const EntryState> states, TargetAddress entry, TargetAddress sp);
const EntryState* FindRecorded(const Report& report, TargetAddress entry, TargetAddress sp);

// The states of those frames that have one, in the order of the frames. They share the pages of the report's.
std::vector<EntryState> RecordedStates(const Report& report, const std::vector<ReplayFrame>& frames);

}  // namespace recrash

#endif  // RECRASH_AGENT_REPORT_RECORDED_STATES_H_
