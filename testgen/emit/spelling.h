// Writes a parameter's type for a file that includes none of the user's headers.
//
//   - A scalar becomes a built-in type or one of <cstdint>.
//   - An enumeration is defined again in the test (literal.h).
//   - A class is declared, so that a pointer to it is a `Greeter*`. A reader may include the real header later.
//   - A class that cannot be declared (a template, a nested class, one of std) gives a recrash::Address.
#ifndef RECRASH_TESTGEN_EMIT_SPELLING_H_
#define RECRASH_TESTGEN_EMIT_SPELLING_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "testgen/symbols/backtrace.h"

namespace recrash {

// Returns a built-in or standard type of the same size and kind: "int", "std::size_t", "std::uint32_t" for an
// enumeration.
std::optional<std::string> SpellScalar(const Type& type);

class TypeSpeller {
 public:
  explicit TypeSpeller(bool opaque) : opaque_(opaque) {}

  // To be called with every type of the file before a type is spelled: `A` cannot be both a class and a namespace.
  void Note(const Type& type);

  // Returns a pointer, also for a reference: "const Greeter*", "int**", "struct node*". None if the class cannot be
  // declared.
  std::optional<std::string> SpellPointer(const Type& type) const;

  // Returns the declarations that the spelled types need.
  std::string Declarations() const;
  // Returns the first part of each declared name. Variables must not hide these.
  std::set<std::string> DeclaredNames() const;

 private:
  using Path = std::vector<std::string>;  // namespaces, then the class; "" stands for an unnamed namespace

  bool CanDeclare(const Path& path) const;

  bool opaque_;
  std::map<std::string, Path> classes_;  // by the name in source, which only one class can have
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_EMIT_SPELLING_H_
