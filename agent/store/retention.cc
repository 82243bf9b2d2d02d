#include "agent/store/retention.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>

#include "agent/base/signal_safe/clock.h"
#include "agent/report/reader.h"
#include "agent/store/signature.h"
#include "agent/store/store_index.h"

namespace recrash {
namespace {

constexpr int64_t kDay = int64_t{86400} * 1'000'000'000;

// Of a raw report it has to be made of its stack; the client cannot do that. Not more than that is read: where little
// memory is left, this process must not take it from the program.
std::string ReadSignature(const std::string& path) {
  const Result<Report> report = ReadForSignature(path);
  if (!report) return "";
  return path.ends_with(".rcraw") ? SignatureOf(*report) : report->signature;
}

// Brings the index up to what is there, and returns the group of each report.
std::vector<std::string> GroupsOf(const ReportFolder& folder, std::span<const StoredReport> reports,
                                  StoreIndex* index) {
  std::vector<std::string> groups;
  std::set<std::string> seen;
  for (const StoredReport& report : reports) {
    if (report.name.empty()) {
      groups.emplace_back();
      continue;
    }
    IndexedReport indexed{report.size, report.written_ns, ""};
    const auto known = index->reports.find(report.name);
    const bool is_known = known != index->reports.end() && known->second.size == report.size &&
                          known->second.written_ns == report.written_ns;
    indexed.signature = is_known ? known->second.signature : ReadSignature(folder.path() + "/" + report.name);
    groups.push_back(index->GroupOf(indexed.signature));
    index->reports[report.name] = std::move(indexed);
    seen.insert(report.name);
  }
  // `recrash show` may have noted reports of other names.
  std::erase_if(index->reports, [&](const auto& report) {
    return !seen.contains(report.first) &&
           faccessat(folder.descriptor(), report.first.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) != 0;
  });
  return groups;
}

void RemoveAll(const ReportFolder& folder, const std::vector<RemovedReport>& removed, StoreIndex* index) {
  for (const RemovedReport& each : removed) {
    if (!folder.Remove(each.report)) continue;
    const auto indexed = index->reports.find(each.report.name);
    if (indexed == index->reports.end()) continue;
    index->CountGone(indexed->second.signature, indexed->second.written_ns);
    index->reports.erase(indexed);
  }
}

}  // namespace

RetentionLimits LimitsOf(const signal_safe::Options& options) {
  return {options.keep, uint64_t{options.store_mib} << 20, options.days};
}

std::vector<RemovedReport> ChooseRemoved(std::span<const StoredReport> reports, std::span<const std::string> groups,
                                         const RetentionLimits& limits, const std::string& spared, int64_t now_ns) {
  std::vector<RemovedReport> removed;
  std::map<std::string, uint64_t> kept;
  uint64_t bytes = 0;
  const auto is_spared = [&](const StoredReport& report) { return !spared.empty() && report.name == spared; };
  const auto keep = [&](size_t i) {
    bytes += reports[i].bytes;
    ++kept[groups[i]];
  };
  for (size_t i = 0; i < reports.size(); ++i)
    if (is_spared(reports[i])) keep(i);
  for (size_t i = 0; i < reports.size(); ++i) {
    const StoredReport& report = reports[i];
    const std::string& group = groups[i];
    if (is_spared(report)) continue;
    const uint64_t age = now_ns > report.written_ns ? static_cast<uint64_t>(now_ns - report.written_ns) : 0;
    if (limits.days != 0 && age / kDay >= limits.days) {
      removed.push_back({report, WhyRemoved::kTooOld});
    } else if (limits.keep != 0 && !group.empty() && kept[group] >= limits.keep) {
      removed.push_back({report, WhyRemoved::kNewerOnes});
    } else if (limits.bytes != 0 && bytes + report.bytes > limits.bytes) {
      removed.push_back({report, WhyRemoved::kNoRoom});
    } else {
      keep(i);
    }
  }
  return removed;
}

Result<Retained> Retain(const std::string& path, const RetentionRequest& request) {
  const Result<ReportFolder> folder = ReportFolder::Open(path);
  if (!folder) return folder.error();
  const auto now = static_cast<int64_t>(signal_safe::Nanoseconds(CLOCK_REALTIME));
  Retained retained;
  const auto choose = [&](StoreIndex* index) {
    const std::vector<StoredReport> reports = folder->Reports();
    const std::vector<std::string> groups = GroupsOf(*folder, reports, index);
    retained.removed = ChooseRemoved(reports, groups, request.limits, request.spared, now);
    std::erase_if(retained.removed, [&](const RemovedReport& each) { return !folder->BeginsAsReport(each.report); });
    retained.left = reports.size() - retained.removed.size();
    for (const StoredReport& report : reports) retained.bytes_left += report.bytes;
    for (const RemovedReport& removed : retained.removed) retained.bytes_left -= removed.report.bytes;
  };
  if (request.dry_run) {
    StoreIndex index = ReadIndex(folder->descriptor());
    choose(&index);
    return retained;
  }
  Result<LockedIndex> index = LockedIndex::Open(folder->descriptor(), request.patience);
  if (!index) return index.error();
  choose(&index->value());
  RemoveAll(*folder, retained.removed, &index->value());
  retained.dead_parts = folder->RemoveDeadParts();
  index->Save();
  return retained;
}

}  // namespace recrash
