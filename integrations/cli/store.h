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

struct NamedReport {
  std::filesystem::path path;
  std::string name;  // file name without .rcr
  std::filesystem::file_time_type time;
  int64_t written = 0;  // the same as a Unix time
};

// Newest first. An empty store, or none, gives no reports.
std::vector<NamedReport> ListStore(const std::filesystem::path& directory);

// The report that `name` means: a path, also of a bundle, a name in the store, or the beginning of exactly one. Without
// a name the newest one, of `program` (by path, else by file name) when that is given.
Result<std::filesystem::path> FindReport(const std::string& name, const std::string& program);

// A name by which FindReport finds it: without the folder, if it is in the store.
std::string NameFor(const std::filesystem::path& report);

}  // namespace recrash::cli

#endif  // RECRASH_INTEGRATIONS_CLI_STORE_H_
