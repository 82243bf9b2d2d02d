// recrash list: what the store holds.
#include <fmt/format.h>

#include <algorithm>

#include "agent/base/printable_text.h"
#include "agent/base/text.h"
#include "agent/report/reader.h"
#include "integrations/cli/commands.h"
#include "integrations/cli/json.h"
#include "integrations/cli/store.h"
#include "integrations/cli/terminal.h"
#include "testgen/emit/failure_text.h"
#include "testgen/emit/text.h"

namespace recrash::cli {

int ListCommand(const ListArguments& arguments) {
  const std::vector<StoredReport> reports = ListStore(StoreDirectory());
  nlohmann::ordered_json json = {{"store", StoreDirectory().string()}, {"reports", nlohmann::ordered_json::array()}};
  size_t width = 0;
  for (const StoredReport& stored : reports) width = std::max(width, stored.name.size());

  for (const StoredReport& stored : reports) {
    const Result<Report> report = ReadMetadata(stored.path);
    nlohmann::ordered_json entry = {{"name", stored.name}, {"path", stored.path.string()}};
    std::string line = fmt::format("{:<{}}  ", PrintableText(stored.name), width);
    if (report) {
      const Process& process = report->process;
      const std::string version = process.version.empty() ? "" : " " + process.version;
      line +=
          fmt::format("{}  {}  {}", TimeText(process.crashed_at), PrintableText(BaseName(process.program) + version),
                      CommentText(FailureKindText(report->failure), 100));
      entry.update({{"program", process.program},
                    {"version", process.version},
                    {"time", process.crashed_at / 1'000'000'000},
                    {"failure", FailureText(*report)}});
    } else {
      line += "damaged: " + PrintableText(report.error().message.substr(0, report.error().message.find('\n')));
      entry["error"] = report.error().message;
    }
    if (arguments.json != "-") fmt::print("{}\n", line);
    json["reports"].push_back(entry);
  }
  if (reports.empty() && arguments.json != "-") Note("no report in " + StoreDirectory().string());
  const Status written = WriteJson(json, arguments.json);
  return written ? kSuccess : Fail(written.error());
}

}  // namespace recrash::cli
