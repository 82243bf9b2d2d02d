// Reads the version log of a program that recorded its entries (agent/client/record). Each frame that is still live
// gets the pages that differed at its entry.
#ifndef RECRASH_AGENT_COLLECTOR_SNAPSHOTS_H_
#define RECRASH_AGENT_COLLECTOR_SNAPSHOTS_H_

#include <optional>
#include <span>

#include "agent/process/target_memory.h"
#include "agent/report/report.h"
#include "shadowstack/log_format.h"

namespace recrash {

// The header of the log at `address`; none if there is no log, or what is there cannot be one.
std::optional<record::LogHeader> ReadLogHeader(const PageSource& memory, TargetAddress address, int32_t pid);

// The log and the recorder's descriptors are not the program's: takes them out. A heap that the kernel shows as two
// mappings, because it has grown since the last snapshot, becomes one again.
void LeaveOutLog(const record::LogHeader& log, std::vector<Mapping>* mappings);
void LeaveOutDescriptors(const record::LogHeader& log, std::vector<OpenFile>* files);

// REQUIRES: the report has its memory, all but `later`. What could not be recorded goes into the report's losses.
void ReadSnapshots(const PageSource& memory, const record::LogHeader& log, std::span<const PageRun> later,
                   Report* report);

}  // namespace recrash

#endif  // RECRASH_AGENT_COLLECTOR_SNAPSHOTS_H_
