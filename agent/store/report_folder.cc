#include "agent/store/report_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string_view>

#include "agent/base/report_store.h"
#include "agent/base/signal_safe/part_file.h"

namespace recrash {
namespace {

// Of a report, a raw report, a minidump; and what a file has that was written when the power went.
constexpr std::string_view kMagic[] = {"\x89RCR\r\n\x1a\n", "RCSHRAW1", "MDMP", {"\0\0\0\0\0\0\0\0", 8}};

struct CloseFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};

// Calls `visit` with each name that the agent may have given.
template <typename Visit>
void ForEachFile(int folder, Visit visit) {
  const std::unique_ptr<DIR, CloseFolder> open(fdopendir(openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
  if (!open) return;
  while (const dirent* entry = readdir(open.get()))
    if (const auto name = ParseReportFileName(entry->d_name)) visit(*name, std::string(entry->d_name));
}

bool IsOurs(const struct stat& status) { return S_ISREG(status.st_mode) && status.st_uid == geteuid(); }

// `name` may be another file by now: a writer that has begun since.
bool RemoveIfDead(int folder, const std::string& name) {
  const Fd part(openat(folder, name.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat opened, named;
  if (!part || fstat(part.get(), &opened) != 0 || !IsOurs(opened) || !signal_safe::IsDeadPart(part.get())) return false;
  if (fstatat(folder, name.c_str(), &named, AT_SYMLINK_NOFOLLOW) != 0 || named.st_ino != opened.st_ino) return false;
  return unlinkat(folder, name.c_str(), 0) == 0;
}

}  // namespace

bool ReportFolder::BeginsAsReport(const StoredReport& report) const {
  return std::ranges::all_of(report.files, [&](const std::string& name) {
    const Fd file(openat(descriptor(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    char begin[8] = {};
    if (!file || pread(file.get(), begin, sizeof begin, 0) < 0) return false;
    const auto begins_with = [&](std::string_view magic) { return magic == std::string_view(begin, magic.size()); };
    return std::ranges::any_of(kMagic, begins_with);
  });
}

int64_t WrittenAt(const struct stat& status) {
  return int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
}

Result<ReportFolder> ReportFolder::Open(const std::string& path) {
  Fd folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder) return ReportFolder(std::move(folder), path);
  if (errno == ENOENT) return Error{Errc::kMissing, path + ": no such folder"};
  return Error{Errc::kRefused, path + ": cannot be opened: " + std::strerror(errno)};
}

std::vector<StoredReport> ReportFolder::Reports() const {
  std::map<std::string, StoredReport> by_stem;
  ForEachFile(descriptor(), [&](const ReportFileName& name, const std::string& file) {
    struct stat status;
    if (name.is_part || fstatat(descriptor(), file.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 || !IsOurs(status))
      return;
    StoredReport& report = by_stem[name.stem];
    report.stem = name.stem;
    report.files.push_back(file);
    report.bytes += static_cast<uint64_t>(status.st_size);
    if (!name.is_report() && !report.name.empty()) return;
    if (name.is_report()) report.name = file;
    report.size = static_cast<uint64_t>(status.st_size);
    report.written_ns = WrittenAt(status);
  });
  std::vector<StoredReport> reports;
  for (auto& [stem, report] : by_stem) reports.push_back(std::move(report));
  std::ranges::sort(reports, [](const StoredReport& a, const StoredReport& b) {
    return a.written_ns != b.written_ns ? a.written_ns > b.written_ns : a.stem > b.stem;
  });
  return reports;
}

bool ReportFolder::Remove(const StoredReport& report) const {
  bool removed = false;
  for (const std::string& file : report.files) {
    struct stat status;  // a link may have come in its place: that would be somebody's own
    if (fstatat(descriptor(), file.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 || !IsOurs(status)) continue;
    const bool gone = unlinkat(descriptor(), file.c_str(), 0) == 0;
    removed |= gone && (file == report.name || report.name.empty());
  }
  return removed;
}

size_t ReportFolder::RemoveDeadParts() const {
  std::vector<std::string> parts;
  ForEachFile(descriptor(), [&](const ReportFileName& name, const std::string& file) {
    if (name.is_part) parts.push_back(file);
  });
  return static_cast<size_t>(
      std::ranges::count_if(parts, [&](const std::string& part) { return RemoveIfDead(descriptor(), part); }));
}

}  // namespace recrash
