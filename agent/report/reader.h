// Brings a report back from disk. Every count and length is checked against the bytes that are there before anything
// is allocated for it; a damaged report gives one sentence.
#ifndef RECRASH_AGENT_REPORT_READER_H_
#define RECRASH_AGENT_REPORT_READER_H_

#include <cstdint>
#include <string>

#include "agent/base/result.h"
#include "agent/report/report.h"

namespace recrash {

struct ReadLimits {
  uint64_t memory = uint64_t{4} << 30;  // limit of all memory and pages that are read, uncompressed
};

// Reads NAME.rcr, or the raw fallback NAME.rcraw that a client without a collector leaves, or either in a bundle
// (agent/bundle); tells them by their magic.
Result<Report> ReadReport(const std::string& path, const ReadLimits& limits = {});

// The same without memory, snapshots and the contents of inputs, which are neither read nor checked: damage there is
// not seen, and the time does not grow with the size of the file.
Result<Report> ReadMetadata(const std::string& path);

// The same with the failing stack of a raw report, which has no signature, and to which signature.h can give one.
Result<Report> ReadForSignature(const std::string& path);

// Reads crash_test.rcr. kMissing: the report is one that `recrash generate` has not worked on.
Result<TestReport> ReadTestReport(const std::string& path, const ReadLimits& limits = {});

}  // namespace recrash

#endif  // RECRASH_AGENT_REPORT_READER_H_
