// What the program recorded at its entries (EntrySnapshot), as the entry states of frames.
#ifndef RECRASH_AGENT_REPORT_RECORDED_STATES_H_
#define RECRASH_AGENT_REPORT_RECORDED_STATES_H_

#include <vector>

#include "agent/report/report.h"

namespace recrash {

// The snapshot of the frame that began there; null: none was kept.
const EntrySnapshot* FindSnapshot(const Report& report, TargetAddress entry, TargetAddress sp);

// The entry state of each frame that has a snapshot, in the order of the frames. A snapshot holds its difference to the
// next snapshot, so that a page that several share is stored once. An entry state holds its difference to the crash.
std::vector<EntryState> EntryStatesFromSnapshots(const Report& report, const std::vector<ReplayFrame>& frames);

}  // namespace recrash

#endif  // RECRASH_AGENT_REPORT_RECORDED_STATES_H_
