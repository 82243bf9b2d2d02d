#include "testgen/replay/host/debug_files.h"

#include "agent/elf/elf_notes.h"
#include "testgen/symbols/symbols.h"

namespace recrash {
namespace {

// Empty if the file has its debug information itself, or if there is none.
std::string DebugFileOf(const std::string& path, const std::string& build_id,
                        const std::vector<std::string>& search_paths) {
  Report report;
  report.process.program = path;
  Module& module = report.modules.emplace_back();
  module.path = path;
  module.build_id = build_id;
  module.is_program = true;
  const Result<Symbols> symbols = Symbols::Open(report, {path, search_paths});
  const LoadedModule* loaded = symbols ? symbols->modules().program() : nullptr;
  return loaded && loaded->dwarf && loaded->dwarf->path() != path ? loaded->dwarf->path() : "";
}

}  // namespace

std::vector<std::string> FindDebugFiles(const TestReport& report, const Subject& subject,
                                        const std::vector<std::string>& search_paths) {
  std::vector<std::string> files;
  if (search_paths.empty()) return files;
  for (size_t i = 0; i < subject.code.files.size(); ++i) {
    const Module& module = report.modules[i];
    const std::string& path = subject.code.files[i];
    if (path.empty() || (!module.is_program && !report.replay.FindImage(module))) continue;
    const Result<std::string> build_id = ReadBuildId(path);
    if (!build_id || build_id->empty()) continue;
    const std::string file = DebugFileOf(path, *build_id, search_paths);
    if (!file.empty()) files.push_back(*build_id + " " + file);
  }
  return files;
}

}  // namespace recrash
