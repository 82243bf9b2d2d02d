// recrash list: what the store holds.
#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>

#include "agent/base/fd.h"
#include "agent/base/printable_text.h"
#include "agent/base/text.h"
#include "agent/store/store_index.h"
#include "integrations/cli/commands.h"
#include "integrations/cli/json.h"
#include "integrations/cli/report_groups.h"
#include "integrations/cli/store.h"
#include "integrations/cli/terminal.h"
#include "testgen/emit/failure_text.h"
#include "testgen/emit/text.h"

namespace recrash::cli {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr size_t kLongestFailure = 100;

size_t WidthOf(const std::vector<ListedReport>& reports) {
  size_t width = 0;
  for (const ListedReport& report : reports) width = std::max(width, PrintableText(report.named.name).size());
  return width;
}

std::string ProgramText(const Report& report) {
  const std::string& version = report.process.version;
  return PrintableText(BaseName(report.process.program) + (version.empty() ? "" : " " + version));
}

std::string DamageText(const ListedReport& report) {
  const std::string& message = report.metadata.error().message;
  return "damaged: " + PrintableText(message.substr(0, message.find('\n')));
}

void PrintReports(const std::vector<ListedReport>& reports) {
  const size_t width = WidthOf(reports);
  for (const ListedReport& report : reports) {
    fmt::print("{:<{}}  ", PrintableText(report.named.name), width);
    if (const Result<Report>& metadata = report.metadata)
      fmt::print("{}  {}  {}\n", TimeText(metadata->process.crashed_at), ProgramText(*metadata),
                 CommentText(FailureKindText(metadata->failure), kLongestFailure));
    else
      fmt::print("{}\n", DamageText(report));
  }
}

// That abort() is called in libc tells nothing.
std::string FailureWithoutChain(const Report& report) {
  const Module* module = report.FindModule(report.failure.pc);
  return module && module->is_program ? FailureText(report) : FailureKindText(report.failure);
}

// As the source has it, if a report of the group was shown or reproduced.
std::string FailureOf(const ReportGroup& group) {
  const ListedReport& newest = *group.reports.front();
  if (!newest.metadata) return DamageText(newest);
  const std::string failure = group.chain.empty() ? FailureWithoutChain(*newest.metadata) : group.chain;
  return ProgramText(*newest.metadata) + ": " + CommentText(failure, kLongestFailure);
}

void PrintGroups(const std::vector<ReportGroup>& groups, size_t width) {
  if (groups.empty()) return;
  fmt::print("{}\n", Coloured(Colour::kDim, fmt::format("{:>5}  {:<23}  {:<23}  {:<{}}  {}", "count", "first", "last",
                                                        "newest report", std::max<size_t>(width, 13), "crash")));
  for (const ReportGroup& group : groups)
    fmt::print("{:>5}  {:<23}  {:<23}  {:<{}}  {}\n", group.count, TimeText(group.first * kSecond),
               TimeText(group.last * kSecond), PrintableText(group.reports.front()->named.name),
               std::max<size_t>(width, 13), FailureOf(group));
}

nlohmann::ordered_json ReportJson(const ListedReport& report) {
  nlohmann::ordered_json json = {{"name", report.named.name}, {"path", report.named.path.string()}};
  if (!report.metadata) {
    json["error"] = report.metadata.error().message;
    return json;
  }
  const Process& process = report.metadata->process;
  json.update({{"program", process.program},
               {"version", process.version},
               {"time", process.crashed_at / kSecond},
               {"failure", FailureText(*report.metadata)},
               {"signature", report.signature},
               {"group", report.group}});
  return json;
}

nlohmann::ordered_json GroupJson(const ReportGroup& group) {
  nlohmann::ordered_json names = nlohmann::ordered_json::array();
  for (const ListedReport* report : group.reports) names.push_back(report->named.name);
  return {{"group", group.group}, {"count", group.count}, {"first", group.first},
          {"last", group.last},   {"crash", group.chain}, {"reports", names}};
}

StoreIndex IndexOf(const std::string& store) {
  const Fd folder(open(store.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return folder ? ReadIndex(folder.get()) : StoreIndex();
}

}  // namespace

int ListCommand(const ListArguments& arguments) {
  const std::string store = StoreDirectory().string();
  const StoreIndex index = IndexOf(store);
  const std::vector<ListedReport> reports = ListReports(store, index);
  const std::vector<ReportGroup> groups = GroupReports(reports, index);
  if (arguments.json != "-") {
    if (reports.empty()) Note("no report in " + store);
    if (arguments.all)
      PrintReports(reports);
    else
      PrintGroups(groups, WidthOf(reports));
  }
  nlohmann::ordered_json json = {
      {"store", store}, {"groups", nlohmann::ordered_json::array()}, {"reports", nlohmann::ordered_json::array()}};
  for (const ReportGroup& group : groups) json["groups"].push_back(GroupJson(group));
  for (const ListedReport& report : reports) json["reports"].push_back(ReportJson(report));
  const Status written = WriteJson(json, arguments.json);
  return written ? kSuccess : Fail(written.error());
}

}  // namespace recrash::cli
