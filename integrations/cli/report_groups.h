// Reports of the store, those of the same crash together.
#ifndef RECRASH_INTEGRATIONS_CLI_REPORT_GROUPS_H_
#define RECRASH_INTEGRATIONS_CLI_REPORT_GROUPS_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "agent/base/result.h"
#include "agent/report/report.h"
#include "agent/store/store_index.h"
#include "integrations/cli/store.h"

namespace recrash::cli {

// A report as far as its metadata tell.
struct ListedReport {
  NamedReport named;
  Result<Report> metadata;
  std::string signature;  // empty: not known
  std::string group;      // equal in reports of the same crash; never empty
};

// The newest first.
std::vector<ListedReport> ListReports(const std::filesystem::path& store, const StoreIndex& index);

struct ReportGroup {
  std::string group;
  std::vector<const ListedReport*> reports;  // that are there, the newest first
  uint64_t count = 0;                        // with those that are gone
  int64_t first = 0;                         // Unix times of crashes, in seconds
  int64_t last = 0;
  std::string chain;  // what happened, as the source has it; empty: not known
};

// In the order of their newest reports. The groups point into `reports`.
std::vector<ReportGroup> GroupReports(const std::vector<ListedReport>& reports, const StoreIndex& index);

}  // namespace recrash::cli

#endif  // RECRASH_INTEGRATIONS_CLI_REPORT_GROUPS_H_
