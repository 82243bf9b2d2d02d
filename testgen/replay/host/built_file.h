// The debug information of a file that is another build than the one that crashed, as that of a process in which
// nothing else is loaded.
//
//   BuiltFile built(subject.program, search_paths);
//   if (built.has_types()) parameters = built.ParametersAt(symbol.offset);
#ifndef RECRASH_TESTGEN_REPLAY_HOST_BUILT_FILE_H_
#define RECRASH_TESTGEN_REPLAY_HOST_BUILT_FILE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/report/report.h"
#include "testgen/replay/plan/program_file.h"
#include "testgen/symbols/layout/layout_reader.h"
#include "testgen/symbols/symbols.h"

namespace recrash {

class BuiltFile {
 public:
  BuiltFile(const ProgramFile& file, const std::vector<std::string>& search_paths);

  bool has_types() const { return debug_ != nullptr; }

  // Types of the parameters of the function at an offset from the file's base, that of a class that it returns first;
  // nothing if nothing is known of it. REQUIRES: has_types(), as all that follows.
  std::optional<std::vector<ReplayParameter>> ParametersAt(uint64_t offset);
  // As stack/argument_places.h has it, of the function at an offset.
  std::optional<bool> TakesArgumentsAsUsual(uint64_t offset);
  // The source file that declares the function at an offset; empty if that is not known.
  std::string SourceFileAt(uint64_t offset);
  // Whether a function of the program's own was inlined somewhere.
  bool Inlines(const std::string& linkage_name);
  TargetAddress AddressOf(uint64_t offset) const { return {base_ + offset}; }
  ModuleSet& modules() const { return symbols_->modules(); }
  const std::vector<Variable>& variables() const { return variables_; }
  const std::vector<TypeLayout>& types() const { return reader_->types(); }
  std::vector<TypeLayout> TakeTypes() { return reader_->Take(); }

 private:
  std::optional<Symbols> symbols_;
  DebugInfo* debug_ = nullptr;
  uint64_t base_ = 0;
  std::optional<LayoutReader> reader_;
  std::vector<Variable> variables_;
  std::optional<std::vector<std::string>> inlined_;  // sorted
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_REPLAY_HOST_BUILT_FILE_H_
