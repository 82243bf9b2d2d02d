// Puts a report on disk as FORMAT.md says: into a temporary file beside it, mode 0600, then renamed, so that a full
// disk leaves nothing half-written and loses nothing that was there.
#ifndef RECRASH_AGENT_REPORT_WRITER_H_
#define RECRASH_AGENT_REPORT_WRITER_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "agent/base/file_io.h"
#include "agent/base/result.h"
#include "agent/report/report.h"

namespace recrash {

// Memory of a report that nobody holds: it is read when it is written.
class LaterMemory {
 public:
  struct Range {
    TargetAddress address;
    uint64_t size = 0;
  };

  virtual ~LaterMemory() = default;
  // Ascending, and apart from the report's own memory.
  virtual std::vector<Range> ranges() const = 0;
  // All of `out`: zeros stand for what can no longer be read.
  virtual void Read(TargetAddress address, std::span<uint8_t> out) const = 0;
};

// `later` may be null.
Status WriteReport(const Report& report, const std::string& path, const LaterMemory* later = nullptr);
Status WriteReport(const TestReport& report, const std::string& path);
Status WriteReport(const Report& report, OutputFile file, const LaterMemory* later = nullptr);  // a new one

}  // namespace recrash

#endif  // RECRASH_AGENT_REPORT_WRITER_H_
