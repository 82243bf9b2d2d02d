// The raw fallback that a client without a collector leaves (shadowstack/raw_format.h), as a report.
#ifndef RECRASH_AGENT_REPORT_RAW_READER_H_
#define RECRASH_AGENT_REPORT_RAW_READER_H_

#include "agent/base/file_io.h"
#include "agent/base/result.h"
#include "agent/report/reader.h"
#include "agent/report/report.h"

namespace recrash {

// Without memory, with the failing stack alone, or with all.
enum class RawExtent { kMetadata, kStack, kAll };

// A file that was cut gives what it holds, and says so in `losses`; one without a crash record is damaged.
Result<Report> ReadRawReport(const InputFile& file, const ReadLimits& limits, RawExtent extent = RawExtent::kAll);

}  // namespace recrash

#endif  // RECRASH_AGENT_REPORT_RAW_READER_H_
