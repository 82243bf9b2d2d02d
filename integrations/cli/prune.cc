// recrash prune: removes reports of the store, as the collector does after each crash.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <vector>

#include "agent/base/printable_text.h"
#include "agent/base/report_store.h"
#include "agent/base/signal_safe/options.h"
#include "agent/store/retention.h"
#include "integrations/cli/commands.h"
#include "integrations/cli/json.h"
#include "integrations/cli/terminal.h"

namespace recrash::cli {
namespace {

// Those that were asked for; without any, the collector's.
RetentionLimits LimitsOf(const PruneArguments& arguments) {
  if (arguments.keep != 0 || arguments.days != 0 || arguments.mib != 0)
    return {arguments.keep, arguments.mib << 20, arguments.days};
  const char* options = std::getenv("RECRASH_OPTIONS");
  return recrash::LimitsOf(signal_safe::ParseOptions(options ? options : "", [](const char*) {}));
}

std::string ReasonText(WhyRemoved why, const RetentionLimits& limits) {
  switch (why) {
    case WhyRemoved::kNewerOnes:
      return fmt::format("has {} newer one{} of the same crash", limits.keep, limits.keep == 1 ? "" : "s");
    case WhyRemoved::kTooOld:
      return fmt::format("is older than {} day{}", limits.days, limits.days == 1 ? "" : "s");
    case WhyRemoved::kNoRoom:
      break;
  }
  return fmt::format("newer ones fill the {} MiB", limits.bytes >> 20);
}

std::string CountText(size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

void Summarise(const Retained& retained, bool dry_run) {
  if (retained.removed.empty() && retained.dead_parts == 0)
    return Note(
        fmt::format("nothing to remove: {} of {}", CountText(retained.left, "report"), SizeText(retained.bytes_left)));
  uint64_t bytes = 0;
  for (const RemovedReport& removed : retained.removed) bytes += removed.report.bytes;
  const std::string parts =
      retained.dead_parts == 0 ? "" : ", and " + CountText(retained.dead_parts, "file") + " of killed writers";
  Note(fmt::format("{} {}{} of {}; {} of {} left", dry_run ? "would remove" : "removed",
                   CountText(retained.removed.size(), "report"), parts, SizeText(bytes),
                   CountText(retained.left, "report"), SizeText(retained.bytes_left)));
}

}  // namespace

int PruneCommand(const PruneArguments& arguments) {
  const std::string store = StoreDirectory().string();
  const RetentionLimits limits = LimitsOf(arguments);
  const Result<Retained> retained = Retain(store, {limits, "", arguments.dry_run, std::chrono::seconds(10)});
  if (!retained && retained.error().code != Errc::kMissing) return Fail(retained.error());
  nlohmann::ordered_json json = {{"store", store}, {"removed", nlohmann::ordered_json::array()}};
  if (!retained && arguments.json != "-") Note("no report in " + store);
  for (const RemovedReport& removed : retained ? retained->removed : std::vector<RemovedReport>()) {
    const std::string reason = ReasonText(removed.why, limits);
    json["removed"].push_back({{"name", removed.report.stem}, {"bytes", removed.report.bytes}, {"reason", reason}});
    if (arguments.json != "-") fmt::print("{}  {}\n", PrintableText(removed.report.stem), reason);
  }
  if (retained) Summarise(*retained, arguments.dry_run);
  const Status written = WriteJson(json, arguments.json);
  return written ? kSuccess : Fail(written.error());
}

}  // namespace recrash::cli
