// A temporary folder to run a program in again: its inputs have the names by which the program was given them.
#ifndef RECRASH_TESTGEN_RERUN_WORKSPACE_H_
#define RECRASH_TESTGEN_RERUN_WORKSPACE_H_

#include <filesystem>
#include <string>
#include <vector>

#include "agent/base/result.h"
#include "agent/report/report.h"

namespace recrash {

class Workspace {
 public:
  // `folder`: to run in, as it is; empty: one of its own.
  static Result<Workspace> Make(const std::string& folder = "");
  Workspace(Workspace&& other) noexcept
      : root_(std::exchange(other.root_, {})), folder_(std::exchange(other.folder_, {})) {}
  Workspace& operator=(Workspace&&) = delete;
  ~Workspace();

  // Empties its own folders and fills the current one again, so that each run finds the same.
  Status Refresh(const Report& report);

  std::filesystem::path current() const { return folder_.empty() ? root_ / "run" : folder_; }
  std::filesystem::path reports() const { return root_ / "reports"; }
  // The report that the run left; kMissing when it is not exactly one.
  Result<std::filesystem::path> OnlyReport() const;

 private:
  Workspace(std::filesystem::path root, std::filesystem::path folder)
      : root_(std::move(root)), folder_(std::move(folder)) {}

  std::filesystem::path root_;
  std::filesystem::path folder_;  // that the user named
};

// The names of what Refresh puts into a folder of its own, and whence: for the user to look at.
std::vector<std::string> FilesOfRun(const Report& report);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_RERUN_WORKSPACE_H_
