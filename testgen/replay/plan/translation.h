// Where functions and objects of a recorded module lie in a rebuilt one: they are paired by symbol name.
//
//   const ModuleTranslation translation(image.symbols, file.symbols);
//   const auto now = translation.FindFunction(entry - module.base, frame.linkage_name);
//
// The key of a local symbol has the name of its source file. Equal keys are paired in the order of their addresses.
// Compilers number lambdas. Names with such a number are paired only if both builds have the same numbers of them: with
// one lambda more, each number may be another one's.
// Between two builds of cppcheck, 5617 of 5617 symbols were found again.
#ifndef RECRASH_TESTGEN_REPLAY_PLAN_TRANSLATION_H_
#define RECRASH_TESTGEN_REPLAY_PLAN_TRANSLATION_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/report/report.h"

namespace recrash {

// A symbol's name in which a compiler has numbered lambdas, without the numbers; "": it has none.
std::string WithoutLambdaNumbers(const std::string& name);

// Whether no symbol that other files see leads to the function at this offset. Compilers may change how it is called.
bool IsLocalFunction(const std::vector<Symbol>& symbols, uint64_t offset);

struct TranslatedSymbol {
  std::string name;
  uint64_t offset = 0;  // in the recorded module
  uint64_t size = 0;
  bool is_function = false;
  bool found = false;
  uint64_t new_offset = 0;
  uint64_t new_size = 0;
};

class ModuleTranslation {
 public:
  ModuleTranslation() = default;
  ModuleTranslation(const std::vector<Symbol>& recorded, const std::vector<Symbol>& rebuilt);

  // Sorted by recorded offset; larger ones first where several begin at one.
  const std::vector<TranslatedSymbol>& symbols() const { return symbols_; }

  // Those of the rebuilt module that belong to none of these.
  std::vector<Symbol> only_rebuilt() const;

  // Returns where the function that began at `offset` begins and ends now, or nothing if it is gone. It is sought by
  // the symbols at `offset`, then by its linkage name.
  std::optional<std::pair<uint64_t, uint64_t>> FindFunction(uint64_t offset, const std::string& linkage_name) const;
  // Whether the function was not sought, since its number may be another lambda's.
  bool MayBeAnotherLambda(const std::string& linkage_name) const;
  // Returns the same of the function that has this linkage name in the rebuilt module. Nothing if several files there
  // have a static function of that name.
  std::optional<std::pair<uint64_t, uint64_t>> FindFunctionNamed(const std::string& linkage_name) const;

 private:
  void PairRenamedFiles();
  void PairInitialisers();
  const TranslatedSymbol* Find(uint64_t offset, const std::string& linkage_name) const;

  std::vector<TranslatedSymbol> symbols_;
  std::vector<Symbol> rebuilt_;
  std::set<std::string> unsure_lambdas_;
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_REPLAY_PLAN_TRANSLATION_H_
