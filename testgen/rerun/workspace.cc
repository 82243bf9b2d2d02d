#include "testgen/rerun/workspace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <fstream>
#include <set>
#include <string>
#include <system_error>

namespace recrash {
namespace fs = std::filesystem;
namespace {

// Can it be put into another folder? A relative name that does not lead out of it.
bool IsInside(const fs::path& name) {
  return !name.empty() && name.is_relative() && *name.begin() != ".." && name != ".";
}

// What the command line names, also behind the `=` of an option.
std::set<fs::path> RelativeNames(const Report& report) {
  std::set<fs::path> names;
  const auto add = [&](const std::string& word) {
    const fs::path name = fs::path(word).lexically_normal();
    if (IsInside(name)) names.insert(name);
  };
  for (size_t i = 1; i < report.process.arguments.size(); ++i) {
    const std::string& word = report.process.arguments[i];
    add(word);
    if (const size_t equals = word.find('='); equals != std::string::npos) add(word.substr(equals + 1));
  }
  return names;
}

// Inputs that the report holds, under the relative names by which the program had them.
Status WriteInputs(const Report& report, const fs::path& folder) {
  for (const Input& input : report.inputs) {
    if (!input.held()) continue;
    for (const std::string& word : input.names) {
      const fs::path name = fs::path(word).lexically_normal();
      if (!IsInside(name)) continue;
      std::error_code error;
      fs::create_directories((folder / name).parent_path(), error);
      std::ofstream file(folder / name, std::ios::binary);
      file.write(reinterpret_cast<const char*>(input.bytes.data()), static_cast<std::streamsize>(input.bytes.size()));
      if (!file.flush()) return Error{Errc::kRefused, (folder / name).string() + ": cannot be written"};
    }
  }
  return Ok{};
}

}  // namespace

Result<Workspace> Workspace::Make() {
  std::string pattern = (fs::temp_directory_path() / "recrash-rerun-XXXXXX").string();
  if (!mkdtemp(pattern.data())) return Error{Errc::kRefused, pattern + ": cannot be made: " + strerror(errno)};
  return Workspace(pattern);
}

Workspace::~Workspace() {
  std::error_code error;
  if (!root_.empty()) fs::remove_all(root_, error);
}

Status Workspace::Refresh(const Report& report) {
  std::error_code error;
  for (const fs::path& folder : {current(), reports()}) {
    fs::remove_all(folder, error);
    if (!fs::create_directories(folder, error))
      return Error{Errc::kRefused, folder.string() + ": cannot be made: " + error.message()};
  }
  if (const Status status = WriteInputs(report, current()); !status) return status;
  for (const fs::path& name : RelativeNames(report)) {
    const fs::path original = fs::path(report.process.working_directory) / name;
    if (!fs::exists(original, error)) continue;
    fs::create_directories((current() / name).parent_path(), error);
    fs::copy(original, current() / name, fs::copy_options::recursive | fs::copy_options::skip_existing, error);
    if (error) return Error{Errc::kRefused, original.string() + ": cannot be copied: " + error.message()};
  }
  return Ok{};
}

Result<fs::path> Workspace::OnlyReport() const {
  std::error_code error;
  fs::path found;
  int count = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(reports(), error)) {
    if (entry.path().extension() != ".rcr") continue;
    found = entry.path();
    ++count;
  }
  if (count == 1) return found;
  return Error{Errc::kMissing, "it left " + std::to_string(count) + " reports"};
}

}  // namespace recrash
