// recrash profile: what second chance watches. show | merge | add.
#include "agent/report/profile.h"

#include <fmt/format.h>

#include <algorithm>

#include "agent/base/printable_text.h"
#include "agent/base/readable_name.h"
#include "agent/base/signal_safe/profile_line.h"
#include "agent/base/text.h"
#include "integrations/cli/commands.h"
#include "integrations/cli/store.h"
#include "integrations/cli/terminal.h"
#include "testgen/emit/failure_text.h"
#include "testgen/suite/load.h"
#include "testgen/symbols/profiled_functions.h"

namespace recrash::cli {
namespace {

std::string CountText(const std::optional<uint64_t>& count) { return count ? std::to_string(*count) : ""; }

// In the unit of the column, nanoseconds given; empty where nothing is known.
std::string TimeText(const std::optional<uint64_t>& nanoseconds, double unit) {
  return nanoseconds ? fmt::format("{:.1f}", static_cast<double>(*nanoseconds) / unit) : "";
}

std::optional<uint64_t> CostOf(const ProfiledFunction& function) {
  return function.microseconds ? std::optional(*function.microseconds * 1000) : std::nullopt;
}

std::string NameText(const ProfiledFunction& function) {
  if (!function.name.empty()) return PrintableText(Demangle(function.name));
  return fmt::format("(no name) at {:#x}", function.offset.value_or(0));
}

void NoteDamage(const Profile& profile, const std::string& path) {
  if (profile.damaged != 0) Note(fmt::format("{}: {} lines were not understood and left out", path, profile.damaged));
}

// What is in the file already stays.
Result<Profile> ReadOrEmpty(const std::string& path) {
  Result<Profile> profile = ReadProfile(path);
  if (!profile && profile.error().code == Errc::kMissing) return Profile();
  return profile;
}

int Write(const Profile& profile, const std::string& path) {
  NoteDamage(profile, path);
  if (Status status = WriteProfile(profile, path); !status) return Fail(status.error());
  fmt::print("{}: {} functions\n", PrintableText(path), profile.functions.size());
  return kSuccess;
}

}  // namespace

int ProfileShowCommand(const ProfileArguments& arguments) {
  const Result<Profile> profile = ReadProfile(arguments.files[0]);
  if (!profile) return Fail(profile.error());
  std::vector<const ProfiledFunction*> functions;
  for (const ProfiledFunction& function : profile->functions) functions.push_back(&function);
  // What costs most comes first, then the order of the file.
  std::ranges::sort(functions, [](const ProfiledFunction* a, const ProfiledFunction* b) {
    const uint64_t cost = a->microseconds.value_or(0), other = b->microseconds.value_or(0);
    return cost != other ? cost > other : a < b;
  });
  fmt::print("{:>10}  {:>9}  {:>8}  {:>12}  {:<12}  {}\n", "entries", "snapshots", "cost, ms", "a call, us", "build",
             "function");
  for (const ProfiledFunction* function : functions)
    fmt::print("{:>10}  {:>9}  {:>8}  {:>12}  {:<12}  {}\n", CountText(function->entries),
               CountText(function->snapshots), TimeText(CostOf(*function), 1e6), TimeText(function->inclusive_ns, 1e3),
               function->build_id.substr(0, 12), NameText(*function));
  NoteDamage(*profile, arguments.files[0]);
  return kSuccess;
}

int ProfileMergeCommand(const ProfileArguments& arguments) {
  Profile merged;
  for (const std::string& file : arguments.files) {
    const Result<Profile> profile = ReadProfile(file);
    if (!profile) return Fail(profile.error());
    MergeProfile(*profile, &merged);
  }
  return Write(merged, arguments.output);
}

int ProfileAddCommand(const ProfileArguments& arguments) {
  const Result<std::filesystem::path> path = FindReport(arguments.report.report, arguments.report.program);
  if (!path) return Fail(path.error());
  SymbolOptions symbols = arguments.report.symbols();
  symbols.max_candidates = 1;  // no arguments are wanted, only the functions
  const Result<Crash> crash = Load(*path, symbols);
  if (!crash) return Fail(crash.error());
  const Profile found = FunctionsToWatch(crash->backtrace, *crash->opened);
  if (found.functions.empty())
    return Fail({Errc::kMissing, path->string() +
                                     ": no function on its stack was compiled by recrash's pass\n"
                                     "build the program with recrash-clang++ -recrash-mode=references+second-chance"});
  std::string output = arguments.output;
  if (output.empty()) output = BaseName(crash->report.process.program) + signal_safe::kProfileSuffix;
  Result<Profile> profile = ReadOrEmpty(output);
  if (!profile) return Fail(profile.error());
  MergeProfile(found, &*profile);
  return Write(*profile, output);
}

}  // namespace recrash::cli
