// The first step: a report, and its back-trace as far as the program's files give it.
#ifndef RECRASH_TESTGEN_SUITE_LOAD_H_
#define RECRASH_TESTGEN_SUITE_LOAD_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "agent/base/result.h"
#include "agent/report/report.h"
#include "testgen/symbols/backtrace.h"

namespace recrash {

struct Crash {
  std::filesystem::path path;
  std::string name;     // the file's, without .rcr or .zip
  uint64_t bytes = 0;   // of the file
  bool is_own = false;  // written on this machine by this user
  SymbolOptions symbols;
  std::optional<Symbols> opened;  // by `symbols`, for all who read symbols of this crash
  Report report;
  Backtrace backtrace;
  std::string kept_program = {};      // the build that crashed (kept_programs.h), where another one is in its place
  std::optional<Error> no_backtrace;  // why `backtrace` is empty
};

// An error: the report cannot be read.
Result<Crash> LoadReport(const std::filesystem::path& path, const SymbolOptions& symbols);
// An error: there is no report or no back-trace.
Result<Crash> Load(const std::filesystem::path& path, const SymbolOptions& symbols);

// Makes it the crash by the exception that a handler caught and replaced, of which only frames inside that handler's
// function can be called. kMissing: there is none, or nothing was called inside of it.
Status GoBackToReplaced(Crash* crash);

// Takes inputs that a report names and does not hold from disk, as long as size and hash are those of the crash, within
// the limits of reports. Returns their paths. Tests that go with their inputs decide something on any machine.
// REQUIRES: this user wrote the report, which says what files these are.
std::vector<std::string> HoldInputs(Report* report);

bool IsReport(const std::filesystem::path& path);  // by its file name
bool IsBundle(const std::filesystem::path& path);  // the same
std::string ReportName(const std::filesystem::path& path);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SUITE_LOAD_H_
