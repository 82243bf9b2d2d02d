#include "testgen/symbols/symbols.h"

namespace recrash {

Result<Symbols> Symbols::Open(const Report& report, const SymbolOptions& options) {
  Result<std::unique_ptr<ModuleSet>> modules = ModuleSet::Open(report, options);
  if (!modules) return modules.error();
  return Symbols(options, *std::move(modules));
}

}  // namespace recrash
