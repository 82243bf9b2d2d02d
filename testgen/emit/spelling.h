// How a parameter's type is written in a file that includes none of the user's headers.
//
// Scalars become built-in or <cstdint> types, enumerations a local copy (literal.h), and pointers to classes forward
// declarations, so that a reader sees `Greeter*` and may add the real header later. What cannot be forward-declared
// (templates, nested classes, std) is a recrash::Address.
#ifndef RECRASH_TESTGEN_EMIT_SPELLING_H_
#define RECRASH_TESTGEN_EMIT_SPELLING_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "testgen/symbols/backtrace.h"

namespace recrash {

// A built-in or standard type of the same size and kind: "int", "std::size_t", "std::uint32_t" for an enumeration.
std::optional<std::string> SpellScalar(const Type& type);

class TypeSpeller {
 public:
  explicit TypeSpeller(bool opaque) : opaque_(opaque) {}

  // First every type of the file is noted, because one may rule out another: `A` cannot be a class and a namespace.
  void Note(const Type& type);

  // A pointer or reference as a pointer: "const Greeter*", "int**", "struct node*"; none when it cannot be declared.
  std::optional<std::string> SpellPointer(const Type& type) const;

  // The declarations that the spellings rely on.
  std::string Declarations() const;
  // First component of each name declared: variables must not hide them.
  std::set<std::string> DeclaredNames() const;

 private:
  using Path = std::vector<std::string>;  // namespaces, then the class; "" is an unnamed namespace

  bool CanDeclare(const Path& path) const;

  bool opaque_;
  std::map<std::string, Path> classes_;  // by the name that source would use; one of each name
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_EMIT_SPELLING_H_
