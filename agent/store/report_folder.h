// The files of a report folder that the agent has put there: what it may count, and remove.
//
//   Result<ReportFolder> folder = ReportFolder::Open("/home/ada/.local/state/recrash");
//   for (const StoredReport& report : folder->Reports()) if (...) folder->Remove(report);
//
// Only regular files of this user, of which the agent has made the name; links are not followed. A folder for reports
// may be any folder, and other users' programs may write to a sticky one.
#ifndef RECRASH_AGENT_STORE_REPORT_FOLDER_H_
#define RECRASH_AGENT_STORE_REPORT_FOLDER_H_

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <vector>

#include "agent/base/fd.h"
#include "agent/base/result.h"

namespace recrash {

// A report with its minidump. A minidump whose report is gone stands for itself.
struct StoredReport {
  std::string stem;                // "server-20261119-091024-21705"
  std::string name;                // of the report's own file, with its suffix; empty: that is gone
  std::vector<std::string> files;  // all, the report's own file among them
  uint64_t bytes = 0;              // of all files
  uint64_t size = 0;               // of the report's own file
  int64_t written_ns = 0;          // when it was; Unix time
};

int64_t WrittenAt(const struct stat& status);  // Unix time, nanoseconds

class ReportFolder {
 public:
  static Result<ReportFolder> Open(const std::string& path);

  // The newest first.
  std::vector<StoredReport> Reports() const;
  // Whether its files begin as the agent's do: somebody may have given a file of his own such a name.
  bool BeginsAsReport(const StoredReport& report) const;
  // Returns whether this call removed the report: another process may have been faster.
  bool Remove(const StoredReport& report) const;
  // Removes what writers have left that were killed. Returns how many files.
  size_t RemoveDeadParts() const;

  int descriptor() const { return folder_.get(); }
  const std::string& path() const { return path_; }

 private:
  ReportFolder(Fd folder, std::string path) : folder_(std::move(folder)), path_(std::move(path)) {}

  Fd folder_;
  std::string path_;
};

}  // namespace recrash

#endif  // RECRASH_AGENT_STORE_REPORT_FOLDER_H_
