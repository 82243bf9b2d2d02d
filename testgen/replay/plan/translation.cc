#include "testgen/replay/plan/translation.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "agent/base/readable_name.h"
#include "agent/elf/symbol_key.h"

namespace recrash {
namespace {

std::vector<const Symbol*> SortedByName(const std::vector<Symbol>& symbols) {
  std::vector<const Symbol*> sorted;
  for (const Symbol& symbol : symbols) sorted.push_back(&symbol);
  std::ranges::sort(sorted, {}, [](const Symbol* symbol) { return std::tie(symbol->name, symbol->offset); });
  return sorted;
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// A name in which compilers have numbered lambdas, without the numbers, and these; no numbers: it has none.
struct Numbered {
  std::string name;
  std::string numbers;
};

// "Plan()::$_1" of clang, "Plan()::'lambda0'(int)" of it in inline functions, "Plan()::{lambda(int)#2}" of g++.
Numbered WithoutNumbers(const std::string& key) {
  Numbered numbered;
  if (key.find("$_") == key.npos && key.find("Ul") == key.npos && key.find("UL") == key.npos) return numbered;
  const std::string name = Demangle(NameInKey(key));
  for (size_t at = 0; at < name.size();) {
    size_t digits = 0;
    for (const std::string_view token : {"$_", "'lambda", "}#", ")#"})
      if (name.compare(at, token.size(), token) == 0) digits = at + token.size();
    if (digits == 0) {
      numbered.name += name[at++];
      continue;
    }
    numbered.name.append(name, at, digits - at);
    for (at = digits; at < name.size() && IsDigit(name[at]); ++at) numbered.numbers += name[at];
    numbered.numbers += ',';
  }
  numbered.name += key.substr(std::min(key.find('@'), key.size()));
  return numbered;
}

// The recorded names of which the numbers may be those of other lambdas now: the other build has more or fewer of them.
std::set<std::string> UnsureLambdas(const std::vector<Symbol>& recorded, const std::vector<Symbol>& rebuilt) {
  struct Known {
    std::set<std::string> names, before, now;
  };
  std::map<std::string, Known> all;
  for (const Symbol& symbol : recorded) {
    const Numbered numbered = WithoutNumbers(symbol.name);
    if (numbered.numbers.empty()) continue;
    all[numbered.name].names.insert(symbol.name);
    all[numbered.name].before.insert(numbered.numbers);
  }
  for (const Symbol& symbol : all.empty() ? std::vector<Symbol>() : rebuilt) {
    const Numbered numbered = WithoutNumbers(symbol.name);
    if (!numbered.numbers.empty()) all[numbered.name].now.insert(numbered.numbers);
  }
  std::set<std::string> unsure;
  for (auto& [name, known] : all)
    if (known.before != known.now) unsure.merge(known.names);
  return unsure;
}

}  // namespace

bool IsLocalFunction(const std::vector<Symbol>& symbols, uint64_t offset) {
  return std::ranges::none_of(symbols, [&](const Symbol& symbol) {
    return symbol.is_function && symbol.offset == offset && !IsKeyOfLocal(symbol.name);
  });
}

std::string WithoutLambdaNumbers(const std::string& name) {
  const Numbered numbered = WithoutNumbers(name);
  return numbered.numbers.empty() ? "" : numbered.name;
}

ModuleTranslation::ModuleTranslation(const std::vector<Symbol>& recorded, const std::vector<Symbol>& rebuilt)
    : rebuilt_(rebuilt), unsure_lambdas_(UnsureLambdas(recorded, rebuilt)) {
  const std::vector<const Symbol*> old_names = SortedByName(recorded);
  const std::vector<const Symbol*> new_names = SortedByName(rebuilt_);
  auto candidate = new_names.begin();
  for (size_t i = 0; i < old_names.size(); ++i) {
    const Symbol& old = *old_names[i];
    while (candidate != new_names.end() && (*candidate)->name < old.name) ++candidate;
    TranslatedSymbol symbol{old.name, old.offset, old.size, old.is_function};
    if (candidate != new_names.end() && (*candidate)->name == old.name &&
        (*candidate)->is_function == old.is_function && !unsure_lambdas_.contains(old.name)) {
      symbol.found = true;
      symbol.new_offset = (*candidate)->offset;
      symbol.new_size = (*candidate)->size;
      const bool pair_next = i + 1 < old_names.size() && old_names[i + 1]->name == old.name &&
                             candidate + 1 != new_names.end() && candidate[1]->name == old.name;
      if (pair_next) ++candidate;
    }
    symbols_.push_back(std::move(symbol));
  }
  PairRenamedFiles();
  PairInitialisers();
  std::ranges::sort(symbols_, {},
                    [](const TranslatedSymbol& symbol) { return std::pair(symbol.offset, ~symbol.size); });
}

// A source file that got another name takes its locals along: what is left over is paired where a name is the only one
// of its kind on both sides.
void ModuleTranslation::PairRenamedFiles() {
  struct Pair {
    TranslatedSymbol* old = nullptr;
    const Symbol* found = nullptr;
    int old_count = 0;
    int new_count = 0;
  };
  std::map<std::string, Pair> pairs;
  std::set<std::string> taken;
  for (TranslatedSymbol& symbol : symbols_) {
    if (symbol.found) taken.insert(symbol.name);
    if (symbol.found || !IsKeyOfLocal(symbol.name) || unsure_lambdas_.contains(symbol.name)) continue;
    Pair& pair = pairs[NameInKey(symbol.name)];
    pair.old = &symbol;
    ++pair.old_count;
  }
  for (const Symbol& symbol : rebuilt_) {
    if (!IsKeyOfLocal(symbol.name) || taken.count(symbol.name)) continue;
    const auto pair = pairs.find(NameInKey(symbol.name));
    if (pair == pairs.end()) continue;
    pair->second.found = &symbol;
    ++pair->second.new_count;
  }
  for (auto& [name, pair] : pairs) {
    if (pair.old_count != 1 || pair.new_count != 1 || pair.old->is_function != pair.found->is_function) continue;
    pair.old->found = true;
    pair.old->new_offset = pair.found->offset;
    pair.old->new_size = pair.found->size;
  }
}

// The function that initialises the variables of a source file has the name of the file from clang, and that of a
// function in it from g++.
void ModuleTranslation::PairInitialisers() {
  constexpr const char* kPrefix = "_GLOBAL__sub_I_";
  const auto file_of = [](const std::string& key) { return key.substr(std::min(key.find('@'), key.size())); };
  std::map<std::string, std::vector<const Symbol*>> by_file;
  for (const Symbol& symbol : rebuilt_)
    if (symbol.is_function && IsKeyOfLocal(symbol.name) && symbol.name.starts_with(kPrefix) &&
        NameInKey(symbol.name).find(".cold") == std::string::npos)
      by_file[file_of(symbol.name)].push_back(&symbol);
  for (TranslatedSymbol& symbol : symbols_) {
    if (symbol.found || !symbol.is_function || !symbol.name.starts_with(kPrefix)) continue;
    const auto found = by_file.find(file_of(symbol.name));
    if (found == by_file.end() || found->second.size() != 1) continue;
    symbol.found = true;
    symbol.new_offset = found->second[0]->offset;
    symbol.new_size = found->second[0]->size;
  }
}

std::vector<Symbol> ModuleTranslation::only_rebuilt() const {
  std::set<std::pair<uint64_t, bool>> taken;
  for (const TranslatedSymbol& symbol : symbols_)
    if (symbol.found) taken.emplace(symbol.new_offset, symbol.is_function);
  std::vector<Symbol> left;
  for (const Symbol& symbol : rebuilt_)
    if (!taken.contains({symbol.offset, symbol.is_function})) left.push_back(symbol);
  return left;
}

const TranslatedSymbol* ModuleTranslation::Find(uint64_t offset, const std::string& linkage_name) const {
  const TranslatedSymbol* named = nullptr;
  for (const TranslatedSymbol& symbol : symbols_) {
    if (!symbol.is_function || !symbol.found) continue;
    const std::string plain = NameInKey(symbol.name);
    // Identical code folding gives one address several names: the frame's own name decides among them.
    if (symbol.offset == offset && (plain == linkage_name || linkage_name.empty())) return &symbol;
    if (symbol.offset == offset && !named) named = &symbol;
  }
  return named;
}

std::optional<std::pair<uint64_t, uint64_t>> ModuleTranslation::FindFunction(uint64_t offset,
                                                                             const std::string& linkage_name) const {
  if (const TranslatedSymbol* symbol = Find(offset, linkage_name)) {
    return std::pair{symbol->new_offset, symbol->new_offset + symbol->new_size};
  }
  for (const Symbol& symbol : rebuilt_) {
    if (symbol.is_function && symbol.name == linkage_name) return std::pair{symbol.offset, symbol.offset + symbol.size};
  }
  return std::nullopt;
}

bool ModuleTranslation::MayBeAnotherLambda(const std::string& linkage_name) const {
  return std::ranges::any_of(unsure_lambdas_, [&](const std::string& key) { return NameInKey(key) == linkage_name; });
}

std::optional<std::pair<uint64_t, uint64_t>> ModuleTranslation::FindFunctionNamed(
    const std::string& linkage_name) const {
  const Symbol* only = nullptr;
  for (const Symbol& symbol : rebuilt_) {
    if (!symbol.is_function || NameInKey(symbol.name) != linkage_name) continue;
    if (only && only->offset != symbol.offset) return std::nullopt;
    only = &symbol;
  }
  if (!only || linkage_name.empty()) return std::nullopt;
  return std::pair{only->offset, only->offset + only->size};
}

}  // namespace recrash
