// What the program adds to its reports itself (recrash.h), and the end of what it wrote on standard error.
#ifndef RECRASH_AGENT_COLLECTOR_ADDITIONS_H_
#define RECRASH_AGENT_COLLECTOR_ADDITIONS_H_

#include <string>
#include <vector>

#include "agent/process/target_memory.h"
#include "agent/report/crash_record.h"
#include "agent/report/report.h"

namespace recrash {

// Reads the table in the process, puts its notes into the report, and returns the files that it names. `table` 0: there
// is none.
NamedFiles ReadAdditions(const PageSource& memory, TargetAddress table, Report* report);

// Keeps the last 64 KiB of standard error, if that is a regular file, and of each of these logs. Of what cannot be read
// the report's losses tell; not of a terminal or a pipe, whose text is gone.
void ReadLogs(const std::vector<std::string>& logs, Report* report);

}  // namespace recrash

#endif  // RECRASH_AGENT_COLLECTOR_ADDITIONS_H_
