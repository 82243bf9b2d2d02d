// What the program recorded at its entries (EntrySnapshot), as the entry states of frames.
#ifndef RECRASH_AGENT_REPORT_ENTRY_STATES_H_
#define RECRASH_AGENT_REPORT_ENTRY_STATES_H_

#include <vector>

#include "agent/report/report.h"

namespace recrash {

// The snapshot of the frame that began there; null: none was kept.
const EntrySnapshot* FindSnapshot(const Report& report, TargetAddress entry, TargetAddress sp);

// Of each frame that has a snapshot, in the order of the frames. Snapshots are kept each as the difference to the next
// one, so that a page that several share is there once; an entry state is the difference to the crash.
std::vector<EntryState> EntryStatesFromSnapshots(const Report& report, const std::vector<ReplayFrame>& frames);

}  // namespace recrash

#endif  // RECRASH_AGENT_REPORT_ENTRY_STATES_H_
