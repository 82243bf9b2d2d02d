// A type as plain data: its kind, its spelling, its size. `DescribeType` of types.h makes it from DWARF.
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

// A parameter's type as a developer writes it, and what the emitter needs for a literal of it.
struct Type {
  TypeKind kind = TypeKind::kUnknown;
  std::string name;  // spelled out with qualifiers: "const std::string&", "Tree*", "unsigned long"
  uint64_t size = 0;
  bool is_const = false;   // outermost (after typedefs)
  bool is_signed = false;  // kEnum: of the underlying type
  std::vector<Enumerator> enumerators;
  // kPointer, kReference, kRvalueReference: what it points to. A deeper level has only a name and a kind.
  std::vector<Type> pointee;  // empty or one

  bool is_address() const {
    return kind == TypeKind::kPointer || kind == TypeKind::kReference || kind == TypeKind::kRvalueReference;
  }
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_DWARF_TYPE_H_
