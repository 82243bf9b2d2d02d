// The version log of a program that recorded its entries (agent/client/snapshot), read after a crash: for each frame
// that is still live the pages that were other at its entry.
#ifndef RECRASH_AGENT_COLLECTOR_SNAPSHOTS_H_
#define RECRASH_AGENT_COLLECTOR_SNAPSHOTS_H_

#include <optional>

#include "agent/process/target_memory.h"
#include "agent/report/report.h"
#include "shadowstack/log_format.h"

namespace recrash {

// The head of the log at `address`; none where there is no log, or nothing that could be one.
std::optional<record::LogHeader> ReadLogHeader(const PageSource& memory, TargetAddress address, int32_t pid);

// The log and the recorder's descriptors are no part of the program; a heap that has grown since the last snapshot is
// still one.
void LeaveOutLog(const record::LogHeader& log, std::vector<Mapping>* mappings);
void LeaveOutDescriptors(const record::LogHeader& log, std::vector<OpenFile>* files);

// Once the report has its memory. What could not be recorded goes into its losses.
void ReadSnapshots(const PageSource& memory, const record::LogHeader& log, Report* report);

}  // namespace recrash

#endif  // RECRASH_AGENT_COLLECTOR_SNAPSHOTS_H_
