// Where reports are kept, and how people name one.
#ifndef RECRASH_INTEGRATIONS_CLI_STORE_H_
#define RECRASH_INTEGRATIONS_CLI_STORE_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "agent/base/report_store.h"
#include "agent/base/result.h"

namespace recrash::cli {

struct StoredReport {
  std::filesystem::path path;
  std::string name;  // file name without .rcr
  std::filesystem::file_time_type time;
};

// Newest first. An empty store, or none, gives no reports.
std::vector<StoredReport> ListStore(const std::filesystem::path& directory);

// The report that `name` means: a path, a name in the store, or the beginning of exactly one. Without a name the newest
// one, of `program` (by path, else by file name) when that is given.
Result<std::filesystem::path> FindReport(const std::string& name, const std::string& program);

}  // namespace recrash::cli

#endif  // RECRASH_INTEGRATIONS_CLI_STORE_H_
