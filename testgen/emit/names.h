// Names in generated source: always identifiers, never keywords, macros, or names that mean something else there.
#ifndef RECRASH_TESTGEN_EMIT_NAMES_H_
#define RECRASH_TESTGEN_EMIT_NAMES_H_

#include <set>
#include <string>
#include <string_view>

namespace recrash {

bool IsIdentifier(std::string_view name);
bool IsKeyword(std::string_view name);

// True for a name that the C library defines: a namespace of that name cannot be declared beside its headers.
bool IsLibraryName(const std::string& name);

// True for the few macros of the C library that are a plain word: no name can be one of them.
bool IsPlainMacro(std::string_view name);

// Hands out names for local variables, each one once.
class LocalNames {
 public:
  // `taken`: names of types and namespaces that the same function mentions.
  explicit LocalNames(std::set<std::string> taken) : taken_(std::move(taken)) {}

  // The parameter's own name where that can be one ("this" becomes "self"), else "argument<number>".
  std::string Next(const std::string& wanted, unsigned number);

 private:
  std::set<std::string> taken_;
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_EMIT_NAMES_H_
