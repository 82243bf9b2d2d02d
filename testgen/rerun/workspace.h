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
  static Result<Workspace> Make();
  Workspace(Workspace&& other) noexcept : root_(std::exchange(other.root_, {})) {}
  Workspace& operator=(Workspace&&) = delete;
  ~Workspace();

  // Empties the folders and fills the current one again, so that each run finds the same.
  Status Refresh(const Report& report);

  std::filesystem::path current() const { return root_ / "run"; }
  std::filesystem::path reports() const { return root_ / "reports"; }
  // The report that the run left; kMissing when it is not exactly one.
  Result<std::filesystem::path> OnlyReport() const;

 private:
  explicit Workspace(std::filesystem::path root) : root_(std::move(root)) {}

  std::filesystem::path root_;
};

// The names of what Refresh puts there, and whence: for the user to look at.
std::vector<std::string> FilesOfRun(const Report& report);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_RERUN_WORKSPACE_H_
