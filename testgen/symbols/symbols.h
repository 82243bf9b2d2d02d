// The files behind a report's modules, opened once for all that is read from the report.
//
//   Result<Symbols> symbols = Symbols::Open(report, options);
//   if (!symbols) return symbols.error();
//   const std::string note = GoBackToFault(*symbols, &report);
//   Result<Backtrace> backtrace = ReadBacktrace(report, *symbols);
//
// Open once a report: opening may look through 20,000 files under the search paths. What was read of a file is kept.
#ifndef RECRASH_TESTGEN_SYMBOLS_SYMBOLS_H_
#define RECRASH_TESTGEN_SYMBOLS_SYMBOLS_H_

#include <memory>

#include "agent/base/result.h"
#include "agent/report/report.h"
#include "testgen/symbols/files/module_set.h"
#include "testgen/symbols/stack/code_info.h"

namespace recrash {

class Symbols {
 public:
  // Fails with kMissing (needed, found, the way out) when the program is not the one that crashed and no file with its
  // build-id is found. The report need not outlive the symbols.
  static Result<Symbols> Open(const Report& report, const SymbolOptions& options);

  const SymbolOptions& options() const { return options_; }
  ModuleSet& modules() const { return *modules_; }
  CodeReader& code() const { return *code_; }

 private:
  Symbols(const SymbolOptions& options, std::unique_ptr<ModuleSet> modules)
      : options_(options), modules_(std::move(modules)), code_(std::make_unique<CodeReader>(*modules_)) {}

  SymbolOptions options_;
  std::unique_ptr<ModuleSet> modules_;
  std::unique_ptr<CodeReader> code_;
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_SYMBOLS_H_
