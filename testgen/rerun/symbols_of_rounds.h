// The symbols for the reports of all rounds: opened once, since each round has the same modules at the same addresses.
//
// Opening may look through 20,000 files under the search paths, and what was read of a module's files is kept.
#ifndef RECRASH_TESTGEN_RERUN_SYMBOLS_OF_ROUNDS_H_
#define RECRASH_TESTGEN_RERUN_SYMBOLS_OF_ROUNDS_H_

#include <algorithm>
#include <optional>
#include <tuple>

#include "agent/base/result.h"
#include "agent/report/report.h"
#include "testgen/symbols/symbols.h"

namespace recrash {

class SymbolsOfRounds {
 public:
  explicit SymbolsOfRounds(const SymbolOptions& options) : options_(options) {}

  // Those of the report before, unless this one has other modules. They stay until the next call.
  Result<const Symbols*> For(const Report& report) {
    const auto place = [](const Module& module) { return std::tuple(module.path, module.build_id, module.base); };
    if (opened_ && std::ranges::equal(opened_->modules().modules(), report.modules, {}, place, place)) return &*opened_;
    Result<Symbols> opened = Symbols::Open(report, options_);
    if (!opened) return opened.error();
    opened_.reset();
    return &opened_.emplace(*std::move(opened));
  }

 private:
  SymbolOptions options_;
  std::optional<Symbols> opened_;
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_RERUN_SYMBOLS_OF_ROUNDS_H_
