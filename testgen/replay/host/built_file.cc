#include "testgen/replay/host/built_file.h"

#include <algorithm>
#include <utility>

#include "testgen/symbols/stack/argument_places.h"

namespace recrash {

BuiltFile::BuiltFile(const ProgramFile& file, const std::vector<std::string>& search_paths) {
  Report report;
  report.process.program = file.path;
  Module& module = report.modules.emplace_back();
  module.path = file.path;
  module.build_id = file.build_id;
  module.base = {file.base_vaddr};
  module.size = UINT64_MAX - file.base_vaddr;
  module.is_program = true;
  Result<Symbols> symbols = Symbols::Open(report, {file.path, search_paths});
  if (!symbols) return;
  symbols_.emplace(*std::move(symbols));
  const LoadedModule* loaded = symbols_->modules().program();
  debug_ = loaded ? symbols_->code().DebugOf(loaded) : nullptr;
  if (!debug_) return;
  base_ = file.base_vaddr;
  reader_.emplace(*debug_);
  variables_ = ReadVariables(*debug_, *loaded->image, base_, &*reader_);
}

std::optional<std::vector<ReplayParameter>> BuiltFile::ParametersAt(uint64_t offset) {
  const CodeInfo& code = symbols_->code().At({base_ + offset});
  if (!code.scopes || code.live.empty()) return std::nullopt;
  std::vector<ReplayParameter> parameters;
  if (const uint32_t result = reader_->AddResult(code.live.back().die)) parameters.push_back({0, "", result, false});
  for (const ParameterInfo& info : code.live.back().parameters)
    parameters.push_back({info.described.number, info.described.name, reader_->Add(info.type), false});
  return parameters;
}

std::optional<bool> BuiltFile::TakesArgumentsAsUsual(uint64_t offset) {
  return recrash::TakesArgumentsAsUsual(symbols_->code().At({base_ + offset}));
}

std::string BuiltFile::SourceFileAt(uint64_t offset) {
  const CodeInfo& code = symbols_->code().At({base_ + offset});
  return code.live.empty() ? "" : code.live.back().declared.file;
}

bool BuiltFile::Inlines(const std::string& linkage_name) {
  if (!inlined_) inlined_ = ReadInlined(*debug_);
  return std::ranges::binary_search(*inlined_, linkage_name);
}

}  // namespace recrash
