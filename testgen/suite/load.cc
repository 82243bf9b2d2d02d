#include "testgen/suite/load.h"

#include "agent/base/own_reports.h"
#include "agent/elf/elf_notes.h"
#include "agent/elf/kept_programs.h"
#include "agent/report/reader.h"
#include "testgen/symbols/handled_fault.h"

namespace recrash {
namespace fs = std::filesystem;

bool IsReport(const fs::path& path) { return path.extension() == ".rcr" || path.extension() == ".rcraw"; }

std::string ReportName(const fs::path& path) { return IsReport(path) ? path.stem() : path.filename(); }

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

}  // namespace recrash
