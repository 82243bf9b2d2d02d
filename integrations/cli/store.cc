#include "integrations/cli/store.h"

#include <fmt/format.h>

#include <algorithm>

#include "agent/report/reader.h"
#include "testgen/suite/load.h"

namespace recrash::cli {
namespace fs = std::filesystem;
namespace {

bool IsRegular(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

Result<fs::path> NewestOf(const std::vector<NamedReport>& reports, const std::string& program) {
  // Links on the way (/bin to /usr/bin) must not matter.
  const auto canonical = [](const fs::path& path) {
    std::error_code error;
    return fs::weakly_canonical(path, error);
  };
  const fs::path wanted = canonical(program);
  const NamedReport* same_name = nullptr;
  for (const NamedReport& stored : reports) {
    const Result<Report> report = ReadMetadata(stored.path);
    if (!report) continue;
    const fs::path crashed = report->process.program;
    if (canonical(crashed) == wanted) return stored.path;
    if (!same_name && crashed.filename() == wanted.filename()) same_name = &stored;
  }
  if (same_name) return same_name->path;
  const std::string found =
      fmt::format("no report of {} among the {} in {}", program, reports.size(), StoreDirectory().string());
  if (!IsRegular(program))
    return Error{Errc::kMissing,
                 found + ", and no such program\ngive --program the path of the program, or name a report"};
  return Error{Errc::kMissing,
               fmt::format("{}\nrun the program until it crashes (recrash run -- {}{}), or name a report", found,
                           program.find('/') == program.npos ? "./" : "", program)};
}

}  // namespace

std::vector<NamedReport> ListStore(const fs::path& directory) {
  std::vector<NamedReport> reports;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
    if (!IsReport(entry.path()) || !entry.is_regular_file(error)) continue;
    const fs::file_time_type written = entry.last_write_time(error);
    const auto since_1970 = std::chrono::file_clock::to_sys(written).time_since_epoch();
    reports.push_back({entry.path(), ReportName(entry.path()), written,
                       std::chrono::duration_cast<std::chrono::seconds>(since_1970).count()});
  }
  std::ranges::sort(reports, [](const NamedReport& a, const NamedReport& b) {
    return a.time != b.time ? a.time > b.time : a.name > b.name;
  });
  return reports;
}

Result<fs::path> FindReport(const std::string& name, const std::string& program) {
  // A bare word may be the program's own name, which is the beginning of its reports' names too.
  const bool is_path = name.find('/') != std::string::npos || IsReport(name) || IsBundle(name);
  if (is_path && IsRegular(name)) return fs::path(name);
  const fs::path store = StoreDirectory();
  const std::vector<NamedReport> reports = ListStore(store);
  if (name.empty()) {
    if (reports.empty())
      return Error{Errc::kMissing, fmt::format("no report in {}\nrun a program until it crashes (recrash run -- "
                                               "./program), or give the path of a report",
                                               store.string())};
    if (!program.empty()) return NewestOf(reports, program);
    return reports.front().path;
  }
  std::vector<const NamedReport*> matching;
  for (const NamedReport& stored : reports) {
    if (stored.name == name || stored.path.filename() == name) return stored.path;
    if (stored.name.starts_with(name)) matching.push_back(&stored);
  }
  if (matching.size() == 1) return matching[0]->path;
  if (matching.empty() && IsRegular(name)) return fs::path(name);
  if (matching.empty())
    return Error{Errc::kMissing, fmt::format("no report {}: neither a file nor the beginning of a name in {}\n"
                                             "`recrash list` shows what is there",
                                             name, store.string())};
  std::string names;
  for (size_t i = 0; i < std::min<size_t>(matching.size(), 5); ++i) names += (i ? ", " : "") + matching[i]->name;
  return Error{Errc::kUsage, fmt::format("{} is the beginning of {} names of reports ({}{})\ngive more of the name",
                                         name, matching.size(), names, matching.size() > 5 ? ", ..." : "")};
}

std::string NameFor(const fs::path& report) {
  return report.parent_path() == StoreDirectory() ? ReportName(report) : report.string();
}

}  // namespace recrash::cli
