#include "integrations/cli/report_groups.h"

#include <algorithm>
#include <map>
#include <set>

#include "agent/report/reader.h"

namespace recrash::cli {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

// Of a raw report, whose file has none, the index may know it.
std::string SignatureOf(const NamedReport& named, const Result<Report>& metadata, const StoreIndex& index) {
  if (metadata && !metadata->signature.empty()) return metadata->signature;
  const auto indexed = index.reports.find(named.path.filename().string());
  return metadata && indexed != index.reports.end() ? indexed->second.signature : "";
}

int64_t CrashedAt(const ListedReport& report) {
  return report.metadata ? report.metadata->process.crashed_at / kSecond : report.named.written;
}

void AddGone(const StoreIndex& index, ReportGroup* group) {
  for (const auto& [signature, gone] : index.gone) {
    if (index.GroupOf(signature) != group->group) continue;
    group->count += gone.count;
    group->first = std::min(group->first, gone.first);
    group->last = std::max(group->last, gone.last);
  }
}

}  // namespace

std::vector<ListedReport> ListReports(const std::filesystem::path& store, const StoreIndex& index) {
  std::vector<ListedReport> reports;
  for (NamedReport& named : ListStore(store)) {
    Result<Report> metadata = ReadMetadata(named.path);
    std::string signature = SignatureOf(named, metadata, index);
    std::string group = signature.empty() ? named.path.filename().string() : index.GroupOf(signature);
    reports.push_back({std::move(named), std::move(metadata), std::move(signature), std::move(group)});
  }
  return reports;
}

std::vector<ReportGroup> GroupReports(const std::vector<ListedReport>& reports, const StoreIndex& index) {
  std::vector<ReportGroup> groups;
  std::map<std::string, size_t> places;
  for (const ListedReport& report : reports) {
    const auto [place, is_new] = places.try_emplace(report.group, groups.size());
    if (is_new) groups.push_back({report.group, {}, 0, CrashedAt(report), CrashedAt(report), ""});
    ReportGroup& group = groups[place->second];
    group.reports.push_back(&report);
    ++group.count;
    group.first = std::min(group.first, CrashedAt(report));
    group.last = std::max(group.last, CrashedAt(report));
    if (const auto chain = index.chains.find(report.signature); chain != index.chains.end())
      group.chain = chain->second.text;
  }
  for (ReportGroup& group : groups) AddGone(index, &group);
  return groups;
}

}  // namespace recrash::cli
