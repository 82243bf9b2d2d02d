// Puts a report on disk as FORMAT.md says: into a temporary file beside it, mode 0600, then renamed, so that a full
// disk leaves nothing half-written and loses nothing that was there.
#ifndef RECRASH_AGENT_REPORT_WRITER_H_
#define RECRASH_AGENT_REPORT_WRITER_H_

#include <string>

#include "agent/base/result.h"
#include "agent/report/report.h"

namespace recrash {

Status WriteReport(const Report& report, const std::string& path);
Status WriteReport(const TestReport& report, const std::string& path);

}  // namespace recrash

#endif  // RECRASH_AGENT_REPORT_WRITER_H_
