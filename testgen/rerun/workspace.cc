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

// Copies what a run may read or write. A report may name any folder: the copy is bounded, and takes no devices.
class Copier {
 public:
  Status Copy(const fs::path& from, const fs::path& to) {
    std::error_code error;
    if (++entries_ > kMostEntries) return TooMuch(from);
    if (fs::is_directory(from, error)) return CopyFolder(from, to);
    if (!fs::is_regular_file(from, error) || fs::exists(to, error)) return Ok{};
    bytes_ += fs::file_size(from, error);
    if (bytes_ > kMostBytes) return TooMuch(from);
    if (fs::copy_file(from, to, error)) return Ok{};
    return Error{Errc::kRefused, from.string() + ": cannot be copied: " + error.message()};
  }

 private:
  static constexpr uint64_t kMostEntries = 20000;
  static constexpr uint64_t kMostBytes = uint64_t{1} << 30;

  // Links to folders are not followed: they may lead back.
  Status CopyFolder(const fs::path& from, const fs::path& to) {
    std::error_code error;
    fs::create_directories(to, error);
    for (const fs::directory_entry& entry : fs::directory_iterator(from, error)) {
      if (entry.is_symlink(error) && entry.is_directory(error)) continue;
      if (const Status status = Copy(entry.path(), to / entry.path().filename()); !status) return status;
    }
    return Ok{};
  }

  static Error TooMuch(const fs::path& at) {
    return {Errc::kRefused, "needed a copy of what the command line names, found more than " +
                                std::to_string(kMostEntries) + " files or " + std::to_string(kMostBytes >> 20) +
                                " MiB (at " + at.string() + ")\n  leave out --rerun"};
  }

  uint64_t entries_ = 0;
  uint64_t bytes_ = 0;
};

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
  Copier copier;
  for (const fs::path& name : RelativeNames(report)) {
    const fs::path original = fs::path(report.process.working_directory) / name;
    if (!fs::exists(original, error)) continue;
    fs::create_directories((current() / name).parent_path(), error);
    if (const Status status = copier.Copy(original, current() / name); !status) return status;
  }
  return Ok{};
}

std::vector<std::string> FilesOfRun(const Report& report) {
  std::vector<std::string> files;
  for (const Input& input : report.inputs)
    if (input.held() && !input.names.empty()) files.push_back(input.names.front() + " (of the report)");
  for (const fs::path& name : RelativeNames(report)) {
    std::error_code error;
    const fs::path original = fs::path(report.process.working_directory) / name;
    if (fs::exists(original, error))
      files.push_back(original.string() + (fs::is_directory(original, error) ? "/" : ""));
  }
  return files;
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
