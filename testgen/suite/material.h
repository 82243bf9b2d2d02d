// What most subcommands begin with: a report, and its back-trace as far as the program's files give it.
#ifndef RECRASH_INTEGRATIONS_CLI_MATERIAL_H_
#define RECRASH_INTEGRATIONS_CLI_MATERIAL_H_

#include <string>
#include <vector>

#include "agent/base/result.h"
#include "agent/report/report.h"
#include "testgen/symbols/backtrace.h"

namespace recrash::cli {

// Options that all subcommands working on a report have.
struct ReportArguments {
  std::string report;  // path, name or prefix; empty: the newest
  std::string program;
  std::vector<std::string> search_paths;
};

struct Material {
  std::string path;
  std::string name;
  SymbolOptions symbols;
  Report report;
  Backtrace backtrace;
};

// `max_candidates` as SymbolOptions has it.
Result<Material> LoadMaterial(const ReportArguments& arguments, uint32_t max_candidates);

}  // namespace recrash::cli

#endif  // RECRASH_INTEGRATIONS_CLI_MATERIAL_H_
