#include "testgen/suite/second_run.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/signal_safe/profile_line.h"
#include "shadowstack/modes.h"
#include "testgen/emit/failure_text.h"
#include "testgen/emit/text.h"
#include "testgen/symbols/dwarf/names.h"
#include "testgen/symbols/profiled_functions.h"

namespace recrash {
namespace {

std::vector<std::string> FunctionsOf(const Backtrace& backtrace) {
  std::vector<std::string> names;
  for (const Frame& frame : backtrace.frames)
    names.push_back(frame.linkage_name.empty() ? frame.function : frame.linkage_name);
  return names;
}

// Addresses and process numbers differ from run to run and are not compared.
bool SameKind(const Failure& a, const Failure& b) {
  return a.kind == b.kind && a.signal == b.signal && a.exception_type == b.exception_type;
}

}  // namespace

StandardInput::StandardInput() {
  struct stat status;
  if (fstat(STDIN_FILENO, &status) != 0) return;
  is_pipe_ = S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode);
  if (S_ISREG(status.st_mode)) offset_ = lseek(STDIN_FILENO, 0, SEEK_CUR);
}

bool StandardInput::Rewind() const {
  return !is_pipe_ && (offset_ < 0 || lseek(STDIN_FILENO, offset_, SEEK_SET) == offset_);
}

Result<Profile> FunctionsToWatch(const Crash& crash) {
  const abi::ModeTraits* const mode = abi::ModeNamed(crash.report.process.mode);
  if (mode == nullptr || !mode->by_profile) return Profile();
  return FunctionsToWatch(crash.report, crash.backtrace, crash.symbols);
}

Result<TemporaryProfile> TemporaryProfile::Write(const Profile& profile, const std::string& folder) {
  const std::string path = fmt::format("{}/second-run-{}{}", folder, getpid(), signal_safe::kProfileSuffix);
  if (Status status = WriteProfile(profile, path); !status) return status.error();
  return TemporaryProfile(path);
}

TemporaryProfile::~TemporaryProfile() {
  if (!path_.empty()) unlink(path_.c_str());
}

std::string FailureAndPlace(const Crash& crash) {
  const Backtrace& backtrace = crash.backtrace;
  const std::string kind = FailureKindText(crash.report.failure);
  const std::string& function = backtrace.place.function;
  return PrintableText(function.empty() ? kind : kind + " in " + PlainFunction(Demangle(function)));
}

std::string Difference(const Crash& first, const Crash& second) {
  const Backtrace &before = first.backtrace, &after = second.backtrace;
  if (!SameKind(first.report.failure, second.report.failure) || before.place.function != after.place.function)
    return FailureAndPlace(first) + ", and then " + FailureAndPlace(second);
  if (FunctionsOf(before) != FunctionsOf(after) || before.skipped != after.skipped)
    return FailureAndPlace(first) + " both times, but with other functions on the stack";
  return "";
}

}  // namespace recrash
