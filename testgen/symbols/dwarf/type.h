// A type as the emitter and people need it: its kind, its spelling, its size. No DWARF in it.
#ifndef RECRASH_TESTGEN_SYMBOLS_DWARF_TYPE_H_
#define RECRASH_TESTGEN_SYMBOLS_DWARF_TYPE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace recrash {

enum class TypeKind : uint8_t {
  kUnknown,
  kBool,
  kSigned,
  kUnsigned,
  kFloat,
  kCharacter,
  kEnum,
  kPointer,
  kReference,
  kRvalueReference,
  kClass,  // struct, class, union
  kArray,
  kMemberPointer,
  kFunction,
};

struct Enumerator {
  std::string name;
  int64_t value = 0;
};

// A parameter's type as a developer would write it, with what the emitter needs to print a literal of it.
struct Type {
  TypeKind kind = TypeKind::kUnknown;
  std::string name;  // spelled out with qualifiers: "const std::string&", "Tree*", "unsigned long"
  uint64_t size = 0;
  bool is_const = false;   // outermost (after typedefs)
  bool is_signed = false;  // kEnum: of the underlying type
  std::vector<Enumerator> enumerators;
  // kPointer, kReference, kRvalueReference: what it points to (one level is filled, deeper ones have name and kind).
  std::vector<Type> pointee;  // empty or one
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_DWARF_TYPE_H_
