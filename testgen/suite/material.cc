#include "testgen/suite/material.h"

#include <filesystem>

#include "agent/report/reader.h"
#include "integrations/cli/store.h"
#include "testgen/symbols/handled_fault.h"

namespace recrash::cli {

Result<Material> LoadMaterial(const ReportArguments& arguments, uint32_t max_candidates) {
  const Result<std::filesystem::path> path = FindReport(arguments.report, arguments.program);
  if (!path) return path.error();
  Result<Report> report = ReadReport(*path);
  if (!report) return report.error();

  Material material;
  material.path = *path;
  material.name = ReportName(*path);
  material.symbols.program = arguments.program;
  material.symbols.search_paths = arguments.search_paths;
  material.symbols.max_candidates = max_candidates;
  material.report = *std::move(report);
  std::string handled = GoBackToFault(material.symbols, &material.report);
  Result<Backtrace> backtrace = ReadBacktrace(material.report, material.symbols);
  if (!backtrace) return backtrace.error();
  material.backtrace = *std::move(backtrace);
  if (!handled.empty()) material.backtrace.notes.push_back(std::move(handled));
  return material;
}

}  // namespace recrash::cli
