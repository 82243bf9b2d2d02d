// Reads the version log of a program that recorded its entries (agent/client/record). Each frame that is still live
// gets the pages that differed at its entry. The log is in the memory of the process, or in that of a raw report.
#ifndef RECRASH_AGENT_REPORT_ENTRY_LOG_H_
#define RECRASH_AGENT_REPORT_ENTRY_LOG_H_

#include <optional>
#include <span>

#include "agent/report/page_source.h"
#include "agent/report/report.h"
#include "shadowstack/log_format.h"
#include "shadowstack/raw_format.h"

namespace recrash {

inline constexpr char kNoLog[] =
    "no entry states: their log is damaged, or that of another process or of another version of recrash";

// The header of the log at `address`; none if there is no log, or what is there cannot be one.
std::optional<record::LogHeader> ReadLogHeader(const PageSource& memory, TargetAddress address, int32_t pid);

// The log and the recorder's descriptors are not the program's: takes them out. A heap that the kernel shows as two
// mappings, because it has grown since the last snapshot, becomes one again.
void LeaveOutLog(const record::LogHeader& log, std::vector<Mapping>* mappings);
void LeaveOutDescriptors(const record::LogHeader& log, std::vector<OpenFile>* files);

// REQUIRES: the report has its memory, all but `later`. What could not be recorded goes into the report's losses.
void ReadSnapshots(const PageSource& memory, const record::LogHeader& log, std::span<const PageRun> later,
                   Report* report);

// What a raw report says of its log, as far as LeaveOutLog and LeaveOutDescriptors need it.
record::LogHeader HeaderOf(const raw::RawEntryLog& kept);

// The same of a raw report, whose memory the log is still a part of: takes it out. `is_whole`: pages that the report
// does not have are zeros. The log and its states may have `most_bytes`.
void ReadKeptLog(const raw::RawEntryLog& kept, bool is_whole, uint64_t most_bytes, Report* report);

}  // namespace recrash

#endif  // RECRASH_AGENT_REPORT_ENTRY_LOG_H_
