#include "testgen/suite/load.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "agent/base/fd.h"
#include "agent/base/own_reports.h"
#include "agent/base/sha256.h"
#include "agent/elf/elf_notes.h"
#include "agent/elf/kept_programs.h"
#include "agent/report/reader.h"
#include "testgen/flips/flipped_code.h"
#include "testgen/symbols/first_failure.h"

namespace recrash {
namespace fs = std::filesystem;

bool IsReport(const fs::path& path) { return path.extension() == ".rcr" || path.extension() == ".rcraw"; }

bool IsBundle(const fs::path& path) { return path.extension() == ".zip"; }

std::string ReportName(const fs::path& path) {
  return IsReport(path) || IsBundle(path) ? path.stem() : path.filename();
}

namespace {

// The program that crashed, kept when it did, if another build has taken its place. Empty: it has not, or none is kept.
std::string InPlaceOf(const std::string& program, const Report& report) {
  const Module* recorded = report.program();
  if (!recorded || recorded->build_id.empty()) return "";
  const Result<std::string> now = ReadBuildId(program.empty() ? recorded->path : program);
  return now && *now == recorded->build_id ? "" : FindKeptProgram(recorded->build_id);
}

}  // namespace

Result<Crash> LoadReport(const fs::path& path, const SymbolOptions& symbols) {
  Result<Report> report = ReadReport(path);
  if (!report) return report.error();
  Crash crash;
  crash.path = path;
  crash.name = ReportName(path);
  crash.is_own = IsOwnReport(path);
  std::error_code gone;
  crash.bytes = fs::file_size(path, gone);
  if (gone) crash.bytes = 0;
  crash.symbols = symbols;
  crash.report = *std::move(report);
  Result<Symbols> opened = Symbols::Open(crash.report, symbols);
  if (!opened) {
    crash.kept_program = InPlaceOf(symbols.program, crash.report);
    SymbolOptions of_kept = symbols;
    of_kept.program = crash.kept_program;
    if (!crash.kept_program.empty()) opened = Symbols::Open(crash.report, of_kept);
  }
  if (!opened) {
    crash.no_backtrace = opened.error();
    return crash;
  }
  crash.opened = *std::move(opened);
  const std::string handled = GoBackToFault(*crash.opened, &crash.report);
  Result<Backtrace> backtrace = ReadBacktrace(crash.report, *crash.opened);
  if (backtrace) {
    crash.backtrace = *std::move(backtrace);
    if (!handled.empty()) crash.backtrace.notes.push_back(handled);
    crash.backtrace.flipped = FlippedCode(crash.report, *crash.opened);
  } else {
    crash.no_backtrace = backtrace.error();
  }
  return crash;
}

Result<Crash> Load(const fs::path& path, const SymbolOptions& symbols) {
  Result<Crash> crash = LoadReport(path, symbols);
  if (crash && crash->no_backtrace) return *crash->no_backtrace;
  return crash;
}

Status GoBackToReplaced(Crash* crash) {
  if (!crash->report.replaced || !crash->opened) return Error{Errc::kMissing, "no exception was replaced"};
  GoBackToReplaced(&crash->report);
  Result<Backtrace> first = ReadBacktrace(crash->report, *crash->opened);
  if (!first) return first.error();
  const std::string handler = LeaveFramesInsideHandler(crash->backtrace, &*first);
  if (handler.empty()) return Error{Errc::kMissing, "the function that caught it is not found on the stack"};
  if (std::ranges::none_of(first->frames, [](const Frame& frame) { return frame.candidate || frame.twin_candidate; }))
    return Error{Errc::kMissing, first->frames.front().function == handler
                                     ? "it was thrown by the function that caught it"
                                     : "no function that was called then can be called again"};
  crash->backtrace = *std::move(first);
  return Ok{};
}

namespace {

// Nothing if it is not the file of the crash.
std::optional<std::vector<uint8_t>> ReadAsRecorded(const Input& input) {
  const Fd file(open(input.path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat status;
  if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  if (static_cast<uint64_t>(status.st_size) != input.size) return std::nullopt;
  std::vector<uint8_t> bytes(input.size);
  size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t got = read(file.get(), bytes.data() + filled, bytes.size() - filled);
    if (got <= 0) return std::nullopt;
    filled += static_cast<size_t>(got);
  }
  Sha256 hash;
  hash.Append(bytes);
  if (hash.Finish() != input.sha256) return std::nullopt;
  return bytes;
}

}  // namespace

std::vector<std::string> HoldInputs(Report* report) {
  std::vector<std::string> taken;
  uint64_t room = kMaxHeldInputs;
  for (const Input& input : report->inputs)
    if (input.held()) room -= std::min(room, input.size);
  for (Input& input : report->inputs) {
    if (input.held() || input.sha256.empty() || input.size > std::min(room, kMaxHeldInput)) continue;
    std::optional<std::vector<uint8_t>> bytes = ReadAsRecorded(input);
    if (!bytes) continue;
    input.bytes = *std::move(bytes);
    input.content = InputContent::kHeld;
    room -= input.size;
    taken.push_back(input.path);
  }
  return taken;
}

}  // namespace recrash
