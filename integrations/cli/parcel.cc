#include "integrations/cli/parcel.h"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>

#include "agent/bundle/bundle.h"
#include "integrations/cli/store.h"
#include "integrations/cli/terminal.h"
#include "testgen/bug_report/bug_report.h"
#include "testgen/suite/holdings.h"
#include "testgen/suite/minimal.h"

namespace recrash::cli {
namespace {

constexpr char kMinidumpMark[] = "MDMP";
constexpr size_t kMinidumpTime = 20;             // offset of its uint32_t, seconds since 1970
constexpr int64_t kNearlyTheSameTime = 10 * 60;  // seconds: it is written right after the report

Result<std::vector<uint8_t>> ReadAll(const Result<InputFile>& file) {
  if (!file) return file.error();
  if (file->size() > kMostInBundle)
    return Error{Errc::kRefused, fmt::format("{}: has {}, and at most {} are passed on", file->path(),
                                             SizeText(file->size()), SizeText(kMostInBundle))};
  std::vector<uint8_t> bytes(file->size());
  if (Status status = file->ReadAt(0, bytes.data(), bytes.size()); !status) return status.error();
  return bytes;
}

bool IsMinidumpOf(const Report& report, const std::vector<uint8_t>& bytes) {
  uint32_t seconds;
  if (bytes.size() < kMinidumpTime + sizeof seconds || std::memcmp(bytes.data(), kMinidumpMark, 4) != 0) return false;
  std::memcpy(&seconds, &bytes[kMinidumpTime], sizeof seconds);
  return std::abs(seconds - report.process.crashed_at / 1'000'000'000) < kNearlyTheSameTime;
}

// Sets one of `minidump` and `no_minidump`.
Status AddMinidump(bool wanted, Parcel* parcel) {
  const auto leave_out = [&](const std::string& why) {
    parcel->no_minidump = "no minidump: " + why;
    return Ok{};
  };
  if (!wanted) return leave_out("you asked for that");
  if (IsRedacted(parcel->crash.report)) return leave_out("it has what `recrash redact` took out of the report");
  Result<std::vector<uint8_t>> bytes = ReadAll(OpenMinidump(parcel->crash.path));
  if (!bytes && bytes.error().code == Errc::kMissing) return leave_out("the report has none beside it");
  if (!bytes) return bytes.error();
  if (!IsMinidumpOf(parcel->crash.report, *bytes)) return leave_out("the one beside the report is not of this crash");
  parcel->minidump = *std::move(bytes);
  return Ok{};
}

std::string Counted(size_t count, const std::string& what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace

Result<Parcel> MakeParcel(const ReportArguments& arguments, bool with_minidump) {
  const auto path = FindReport(arguments.report, arguments.program);
  if (!path) return path.error();
  Result<Crash> crash = LoadReport(*path, arguments.symbols());
  if (!crash) return crash.error();
  if (IsReduced(crash->report))
    return Error{Errc::kRefused, path->string() +
                                     ": holds only what its tests need, so nobody can make tests from it\n"
                                     "pass its folder on, with crash_test.cc and CMakeLists.txt"};
  Parcel parcel;
  parcel.crash = *std::move(crash);
  Result<std::vector<uint8_t>> bytes = ReadAll(OpenReport(*path));
  if (!bytes) return bytes.error();
  parcel.report = *std::move(bytes);
  const std::string name = HarmlessName(parcel.crash.name);
  parcel.report_name = name + (path->extension() == ".rcraw" ? ".rcraw" : ".rcr");
  parcel.minidump_name = name + ".dmp";
  if (Status status = AddMinidump(with_minidump, &parcel); !status) return status.error();
  return parcel;
}

std::vector<std::string> ContentsOf(const Parcel& parcel, const std::string& report) {
  const Report& held = parcel.crash.report;
  size_t files = 0, names = held.files.size();
  for (const Input& input : held.inputs) (input.held() ? files : names) += 1;
  const auto line = [&](const std::string& what, const char* option) {
    return fmt::format("{:<40} recrash show {}{}", what, report, option);
  };
  std::vector<std::string> lines;
  if (!parcel.report.empty())
    lines = {line(fmt::format("{} of memory, {}", SizeText(SizeOf(held.memory)), Counted(TextsIn(held).size(), "text")),
                  " --strings"),
             line(Counted(EnvironmentIn(held).size(), "variable") + " of the environment", " --env"),
             line(fmt::format("contents of {}, names of {}", Counted(files, "file"), names), " --files")};
  uint64_t logged = 0;
  for (const KeptLog& log : held.logs) logged += log.tail.size();
  if (!parcel.report.empty() && logged != 0)
    lines.push_back(line(SizeText(logged) + " of standard error and logs", " --log"));
  if (!parcel.report.empty() && !held.notes.empty())
    lines.push_back(line(Counted(held.notes.size(), "note") + " of the program", ""));
  lines.push_back(parcel.minidump.empty()
                      ? parcel.no_minidump
                      : fmt::format("a minidump of {}: stacks and registers of {}", SizeText(parcel.minidump.size()),
                                    Counted(held.threads.size(), "thread")));
  return lines;
}

}  // namespace recrash::cli
