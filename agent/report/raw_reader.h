// The raw fallback that a client without a collector leaves (agent/client/raw_format.h), as a report.
#ifndef RECRASH_AGENT_REPORT_RAW_READER_H_
#define RECRASH_AGENT_REPORT_RAW_READER_H_

#include "agent/report/file_io.h"
#include "agent/report/reader.h"
#include "agent/report/report.h"
#include "agent/report/result.h"

namespace recrash {

// A file that was cut gives what it holds, and says so in `losses`; one without a crash record is damaged.
Result<Report> ReadRawReport(const InputFile& file, const ReadLimits& limits);

}  // namespace recrash

#endif  // RECRASH_AGENT_REPORT_RAW_READER_H_
