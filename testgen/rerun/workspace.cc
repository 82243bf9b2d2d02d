#include "testgen/rerun/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "agent/base/fd.h"
#include "agent/base/ordinary_path.h"

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

// Puts into a folder what a run may read or write. A report may name any folder, one that the kernel makes up among
// them, and an input by a million names: all is bounded, and nothing but regular files is opened.
class Filler {
 public:
  // Inputs that the report holds, under the relative names by which the program had them.
  Status Write(const Report& report, const fs::path& folder) {
    for (const Input& input : report.inputs) {
      if (!input.held()) continue;
      for (const std::string& word : input.names) {
        const fs::path name = fs::path(word).lexically_normal();
        if (!IsInside(name)) continue;
        if (const Status status = Write(input, folder / name); !status) return status;
      }
    }
    return Ok{};
  }

  // What is there already stays. Links to folders in a folder are not followed: they may lead back.
  Status Copy(const fs::path& from, const fs::path& to, int depth = 0) {
    std::error_code error;
    if (++entries_ > kMostEntries || depth > kMostDepth) return TooMuch(from);
    if (!IsOfADisk(from)) return Ok{};
    if (fs::is_directory(from, error)) return CopyFolder(from, to, depth);
    if (!fs::is_regular_file(from, error) || fs::exists(to, error)) return Ok{};
    return CopyFile(from, to);
  }

 private:
  static constexpr uint64_t kMostEntries = 20000;
  static constexpr uint64_t kMostBytes = uint64_t{1} << 30;
  static constexpr int kMostDepth = 100;  // each level holds a descriptor

  // Files of /proc look regular: reading one may wait for ever, or never end.
  static bool IsOfADisk(const fs::path& path) {
    std::error_code error;
    const std::string resolved = fs::canonical(path, error);
    return IsOrdinaryPath(resolved) || resolved.starts_with("/dev/shm/");
  }

  Status Write(const Input& input, const fs::path& to) {
    std::error_code error;
    bytes_ += input.bytes.size();
    if (++entries_ > kMostEntries || bytes_ > kMostBytes) return TooMuch(to);
    fs::create_directories(to.parent_path(), error);
    std::ofstream file(to, std::ios::binary);
    file.write(reinterpret_cast<const char*>(input.bytes.data()), static_cast<std::streamsize>(input.bytes.size()));
    if (!file.flush()) return Error{Errc::kRefused, to.string() + ": cannot be written"};
    return Ok{};
  }

  Status CopyFolder(const fs::path& from, const fs::path& to, int depth) {
    std::error_code error;
    fs::create_directories(to, error);
    for (fs::directory_iterator it(from, error); !error && it != fs::directory_iterator(); it.increment(error)) {
      if (it->is_symlink(error) && it->is_directory(error)) continue;
      if (const Status status = Copy(it->path(), to / it->path().filename(), depth + 1); !status) return status;
    }
    return Ok{};
  }

  // Counts what comes: a file may grow while it is read.
  Status CopyFile(const fs::path& from, const fs::path& to) {
    const auto failed = [&] { return Error{Errc::kRefused, from.string() + ": cannot be copied: " + strerror(errno)}; };
    const Fd in(open(from.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    struct stat status;
    if (!in || fstat(in.get(), &status) != 0) return failed();
    if (!S_ISREG(status.st_mode)) return Ok{};
    const Fd out(open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!out || fchmod(out.get(), status.st_mode & 0777) != 0) return failed();
    for (;;) {
      const ssize_t size = read(in.get(), buffer_.data(), buffer_.size());
      if (size < 0) return failed();
      if (size == 0) return Ok{};
      bytes_ += static_cast<uint64_t>(size);
      if (bytes_ > kMostBytes) return TooMuch(from);
      if (write(out.get(), buffer_.data(), static_cast<size_t>(size)) != size) return failed();
    }
  }

  static Error TooMuch(const fs::path& at) {
    return {Errc::kRefused, "needed a copy of what the command line names, found more than " +
                                std::to_string(kMostEntries) + " files, " + std::to_string(kMostBytes >> 20) +
                                " MiB or " + std::to_string(kMostDepth) + " folders in each other (at " + at.string() +
                                ")\n  leave out --rerun"};
  }

  uint64_t entries_ = 0;
  uint64_t bytes_ = 0;
  std::vector<char> buffer_ = std::vector<char>(1 << 20);
};

}  // namespace

Result<Workspace> Workspace::Make(const std::string& folder) {
  std::error_code error;
  if (!folder.empty() && !fs::is_directory(folder, error))
    return Error{Errc::kMissing, folder + ": needed a folder to run the program in, found none"};
  std::string pattern = (fs::temp_directory_path() / "recrash-rerun-XXXXXX").string();
  if (!mkdtemp(pattern.data())) return Error{Errc::kRefused, pattern + ": cannot be made: " + strerror(errno)};
  return Workspace(pattern, folder);
}

Workspace::~Workspace() {
  std::error_code error;
  if (!root_.empty()) fs::remove_all(root_, error);
}

Status Workspace::Refresh(const Report& report) {
  std::error_code error;
  for (const fs::path& folder : {root_ / "run", reports()}) {
    fs::remove_all(folder, error);
    if (!fs::create_directories(folder, error))
      return Error{Errc::kRefused, folder.string() + ": cannot be made: " + error.message()};
  }
  if (!folder_.empty()) return Ok{};
  Filler filler;
  if (const Status status = filler.Write(report, current()); !status) return status;
  for (const fs::path& name : RelativeNames(report)) {
    const fs::path original = fs::path(report.process.working_directory) / name;
    if (!fs::exists(original, error)) continue;
    fs::create_directories((current() / name).parent_path(), error);
    if (const Status status = filler.Copy(original, current() / name); !status) return status;
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
  return Error{Errc::kMissing, "left " + (count == 0 ? "no report" : std::to_string(count) + " reports")};
}

}  // namespace recrash
