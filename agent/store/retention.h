// Which reports stay. The collector asks after each report that it has written, and `recrash prune` at any time.
//
//   Retain("/home/ada/.local/state/recrash", {LimitsOf(options), "server-20261119-091024-21705.rcr"});
#ifndef RECRASH_AGENT_STORE_RETENTION_H_
#define RECRASH_AGENT_STORE_RETENTION_H_

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "agent/base/result.h"
#include "agent/base/signal_safe/options.h"
#include "agent/store/report_folder.h"

namespace recrash {

// 0 of each: no limit.
struct RetentionLimits {
  uint64_t keep = 0;   // newest reports of a signature
  uint64_t bytes = 0;  // of all reports
  uint64_t days = 0;   // since a report was written
};

RetentionLimits LimitsOf(const signal_safe::Options& options);

enum class WhyRemoved { kNewerOnes, kTooOld, kNoRoom };

struct RemovedReport {
  StoredReport report;
  WhyRemoved why;
};

// What has to go of `reports`, the newest first; `groups`: of each what it has in common with others, or "". The report
// `spared` stays in any case.
std::vector<RemovedReport> ChooseRemoved(std::span<const StoredReport> reports, std::span<const std::string> groups,
                                         const RetentionLimits& limits, const std::string& spared, int64_t now_ns);

struct RetentionRequest {
  RetentionLimits limits;
  std::string spared = {};                  // file name of a report that stays: the one just written
  bool dry_run = false;                     // only say what would go
  std::chrono::milliseconds patience{200};  // with another process that does the same
};

struct Retained {
  std::vector<RemovedReport> removed;
  size_t dead_parts = 0;  // files of writers that were killed, removed as well
  size_t left = 0;        // reports that stay
  uint64_t bytes_left = 0;
};

// Removes reports, and what dead writers left, of the folder. kTaken: another process does it already.
Result<Retained> Retain(const std::string& folder, const RetentionRequest& request);

}  // namespace recrash

#endif  // RECRASH_AGENT_STORE_RETENTION_H_
