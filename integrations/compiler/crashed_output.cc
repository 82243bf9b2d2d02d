#include "integrations/compiler/crashed_output.h"

#include <string>

#include "agent/base/report_store.h"
#include "agent/elf/kept_programs.h"

namespace recrash::compiler {
namespace fs = std::filesystem;
namespace {

// "server-20261119-091024-21705.rcr" is of server, and not of server-2.
bool IsReportOf(const fs::path& report, const std::string& program) {
  const auto name = ParseReportFileName(report.filename().string());
  return name && name->is_report() && name->program == program;
}

}  // namespace

void KeepCrashedOutput(const fs::path& output) {
  std::error_code error;
  fs::directory_iterator reports(StoreDirectory(), error);
  if (error) return;
  const fs::file_time_type linked = fs::last_write_time(output, error);
  if (error || !fs::is_regular_file(output, error)) return;
  for (; !error && reports != fs::directory_iterator(); reports.increment(error)) {
    if (!IsReportOf(reports->path(), output.filename().string())) continue;
    if (reports->last_write_time(error) >= linked && !error) return KeepProgram(output.string());
  }
}

}  // namespace recrash::compiler
