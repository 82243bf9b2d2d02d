// recrash bundle: what a bug report needs, as one file and a text.
#include "agent/bundle/bundle.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string_view>

#include "agent/base/file_io.h"
#include "agent/base/printable_text.h"
#include "agent/bundle/zip_writer.h"
#include "integrations/cli/commands.h"
#include "integrations/cli/parcel.h"
#include "integrations/cli/store.h"
#include "integrations/cli/terminal.h"
#include "testgen/bug_report/bug_report.h"

namespace recrash::cli {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<uint8_t>;

// What they take when nobody has set them up otherwise. Megabytes of a million: that fits whichever they mean.
struct Tracker {
  const char* option;
  const char* name;
  uint64_t megabytes;
};
constexpr Tracker kTrackers[] = {{"github", "GitHub", 25}, {"gitlab", "GitLab", 10}, {"bugzilla", "Bugzilla", 1}};
constexpr uint64_t kMegabyte = 1'000'000;

struct Limit {
  std::string what;  // "Bugzilla takes 1 MB"
  uint64_t bytes = UINT64_MAX;
};

// "5MB", "500 KiB", "1000000".
std::optional<uint64_t> BytesOf(std::string_view text) {
  constexpr std::pair<std::string_view, uint64_t> kUnits[] = {
      {"", 1},           {"b", 1},         {"k", 1000},
      {"kb", 1000},      {"kib", 1024},    {"m", kMegabyte},
      {"mb", kMegabyte}, {"mib", 1 << 20}, {"gb", 1000 * kMegabyte},
      {"gib", 1 << 30}};
  uint64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string unit(static_cast<const char*>(end), text.data() + text.size());
  if (unit.starts_with(' ')) unit.erase(0, 1);
  for (char& c : unit) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const auto found = std::ranges::find(kUnits, unit, &std::pair<std::string_view, uint64_t>::first);
  if (problem != std::errc() || number == 0 || number > UINT32_MAX || found == std::end(kUnits)) return std::nullopt;
  return number * found->second;
}

Result<Limit> LimitOf(const BundleArguments& arguments) {
  for (const Tracker& tracker : kTrackers)
    if (arguments.tracker == tracker.option)
      return Limit{fmt::format("{} takes {} MB", tracker.name, tracker.megabytes), tracker.megabytes * kMegabyte};
  if (arguments.max_size.empty()) return Limit{};
  const std::optional<uint64_t> bytes = BytesOf(arguments.max_size);
  if (!bytes) return Error{Errc::kUsage, "--max-size: needed a size such as 5MB, found " + arguments.max_size};
  return Limit{"--max-size is " + arguments.max_size, *bytes};
}

Result<fs::path> OutputOf(const BundleArguments& arguments, const Crash& crash) {
  const fs::path output = arguments.output.empty() ? HarmlessName(crash.name) + ".zip" : arguments.output;
  if (!IsBundle(output))
    return Error{Errc::kUsage, output.string() + ": needed a name that ends in .zip, which trackers take"};
  std::error_code none;
  if (fs::exists(fs::symlink_status(output, none)))
    return Error{Errc::kUsage, output.string() + ": is there already; name a new file with -o"};
  return output;
}

std::string ReadMe(const Parcel& parcel, const BugReport& bug, const std::string& bundle) {
  std::string contents;
  for (const std::string& line : ContentsOf(parcel, HarmlessName(bundle))) contents += "    " + line + "\n";
  return fmt::format(
      "# A crash of {}\n\n{}\n## What is in here\n\nThis holds memory of the program, as it was at the failure. Pass "
      "it on with "
      "care.\n\n{}",
      HarmlessName(fs::path(parcel.crash.report.process.program).filename()), bug.text, contents);
}

Result<Bytes> Zip(const Parcel& parcel, const BugReport& bug, const std::string& bundle) {
  const std::string read_me = ReadMe(parcel, bug, bundle);
  std::vector<ZipMember> members = {{kBundleReadMe, Bytes(read_me.begin(), read_me.end())},
                                    {parcel.report_name, parcel.report}};
  if (!parcel.minidump.empty()) members.push_back({parcel.minidump_name, parcel.minidump});
  return MakeZip(members, parcel.crash.report.process.crashed_at / 1'000'000'000);
}

Error TooLarge(const Report& report, uint64_t size, const Limit& limit) {
  const bool has_files = std::ranges::any_of(report.inputs, &Input::held);
  return {Errc::kRefused,
          fmt::format("the bundle would have {}, without the minidump, and {}\n{}put it where others can fetch it, and "
                      "paste its address",
                      SizeText(size), limit.what,
                      has_files ? "take contents of files out by `recrash redact --files -o SMALLER.rcr`; or " : "")};
}

// Without the minidump, if it does not fit otherwise.
Result<Bytes> ZipWithin(const Limit& limit, const BugReport& bug, const std::string& bundle, Parcel* parcel) {
  Result<Bytes> zip = Zip(*parcel, bug, bundle);
  if (!zip || zip->size() <= limit.bytes) return zip;
  if (!parcel->minidump.empty()) {
    parcel->no_minidump =
        fmt::format("no minidump: with it the bundle has {}, and {}", SizeText(zip->size()), limit.what);
    parcel->minidump.clear();
    zip = Zip(*parcel, bug, bundle);
  }
  if (zip && zip->size() > limit.bytes) return TooLarge(parcel->crash.report, zip->size(), limit);
  return zip;
}

std::string WhoTakes(uint64_t size) {
  std::string takes, refuses;
  for (const Tracker& tracker : kTrackers) {
    std::string* const list = size <= tracker.megabytes * kMegabyte ? &takes : &refuses;
    *list += fmt::format("{}{} ({} MB)", list->empty() ? "" : ", ", tracker.name, tracker.megabytes);
  }
  return fmt::format("taken by {}{}", takes.empty() ? "none of " + refuses : takes,
                     takes.empty() || refuses.empty() ? "" : "; not by " + refuses);
}

Status Write(const Bytes& zip, const std::string& path) {
  Result<OutputFile> file = OutputFile::Create(path, "bundle");
  if (!file) return file.error();
  file->WriteAt(0, zip.data(), zip.size());
  return file->Keep();
}

}  // namespace

int BundleCommand(const BundleArguments& arguments) {
  const Result<Limit> limit = LimitOf(arguments);
  if (!limit) return Fail(limit.error());
  Result<Parcel> parcel = MakeParcel(arguments.report, arguments.minidump);
  if (!parcel) return Fail(parcel.error());
  const Result<fs::path> output = OutputOf(arguments, parcel->crash);
  if (!output) return Fail(output.error());
  const BugReport bug = WriteBugReport(parcel->crash, output->filename());
  const Result<Bytes> zip = ZipWithin(*limit, bug, output->filename(), &*parcel);
  if (!zip) return Fail(zip.error());
  if (Status written = Write(*zip, *output); !written) return Fail(written.error());

  if (parcel->crash.no_backtrace) Note("no frames in it: " + parcel->crash.no_backtrace->message);
  Note(fmt::format(
      "{}: {}, {}; look at what it holds before you pass it on:\n{}\n"
      "to take some out: recrash redact {} --env --files --strings TEXT -o CLEAN.rcr, then recrash bundle CLEAN.rcr",
      output->string(), SizeText(zip->size()), WhoTakes(zip->size()),
      fmt::join(ContentsOf(*parcel, output->string()), "\n"), NameFor(parcel->crash.path)));
  fmt::print("{}\n\n{}", bug.title, bug.text);
  return kSuccess;
}

}  // namespace recrash::cli
