// Names of report files: <program>-<UTC yyyymmdd-hhmmss>-<pid>.
#ifndef RECRASH_AGENT_COLLECTOR_REPORT_NAME_H_
#define RECRASH_AGENT_COLLECTOR_REPORT_NAME_H_

#include <cstdint>
#include <string>

#include "agent/base/file_io.h"
#include "agent/base/result.h"

namespace recrash {

// Without folder and suffix. Of the program's name only what needs no quoting anywhere survives; the rest becomes `_`.
std::string ReportBaseName(const std::string& program, int64_t unix_seconds, int32_t pid);

// Makes the folder (0700, with what leads to it) and a new report in it. If there is one of that name, or somebody
// writes one, the name gets a number: a program may report several failures within a second, and in each container that
// shares the folder a program may be process 1.
Result<OutputFile> NewReport(const std::string& folder, const std::string& base_name);

}  // namespace recrash

#endif  // RECRASH_AGENT_COLLECTOR_REPORT_NAME_H_
