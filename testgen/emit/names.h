// Chooses names for generated source: identifiers that are no keyword, no macro, and mean nothing else there.
#ifndef RECRASH_TESTGEN_EMIT_NAMES_H_
#define RECRASH_TESTGEN_EMIT_NAMES_H_

#include <set>
#include <string>
#include <string_view>

namespace recrash {

bool IsIdentifier(std::string_view name);
bool IsKeyword(std::string_view name);

// True for a name that the C library defines. Beside its headers no namespace can have that name.
bool IsLibraryName(const std::string& name);

// True for a macro of the C library that looks like a plain word (`linux`, `errno`). No name can be one of them.
bool IsPlainMacro(std::string_view name);

// Hands out names for local variables, each name once.
class LocalNames {
 public:
  // `taken`: names of types and namespaces that the test uses.
  explicit LocalNames(std::set<std::string> taken) : taken_(std::move(taken)) {}

  // Returns the parameter's own name if a variable can have it ("this" becomes "self"); else "argument<number>".
  std::string Next(const std::string& wanted, unsigned number);

 private:
  std::set<std::string> taken_;
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_EMIT_NAMES_H_
