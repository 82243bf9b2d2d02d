// Types in DWARF: what they are, how large, and how a developer writes them.
//
//   const std::optional<Dwarf_Die> type = TypeOf(parameter);  // nothing: void
//   if (type && KindOf(*type) == TypeKind::kPointer) text = SpellType(*debug, type);  // "const Tree*"
#ifndef RECRASH_TESTGEN_SYMBOLS_DWARF_TYPES_H_
#define RECRASH_TESTGEN_SYMBOLS_DWARF_TYPES_H_

#include <elfutils/libdw.h>

#include <cstdint>
#include <optional>
#include <string>

#include "testgen/symbols/dwarf/debug_info.h"
#include "testgen/symbols/dwarf/type.h"

namespace recrash {

// Returns DW_AT_type; nothing for void.
std::optional<Dwarf_Die> TypeOf(Dwarf_Die& die);
// Returns the type behind its outermost typedefs and qualifiers.
Dwarf_Die StripType(Dwarf_Die type);
// The same; in addition, replaces a class that its unit only declares by its definition.
Dwarf_Die ResolveType(DebugInfo& debug, Dwarf_Die type);
// Returns true if one of the type's outermost typedefs and qualifiers is a const.
bool IsConstType(Dwarf_Die type);
// Returns the size in memory, for a reference that of a pointer; 0 if it is not known.
uint64_t TypeSize(DebugInfo& debug, Dwarf_Die type);
// Returns the kind of the type behind typedefs and qualifiers.
TypeKind KindOf(Dwarf_Die type);
// Returns the type as written in C++: "const std::string&", "int (*)(char)", "Tree*". Nothing is "void".
std::string SpellType(DebugInfo& debug, std::optional<Dwarf_Die> type);
// Returns the type as plain data. Of what pointers and references point to, `levels` levels are described; of the next
// level, only name and kind.
Type DescribeType(DebugInfo& debug, std::optional<Dwarf_Die> type, int levels = 1);
// Returns the number of elements of an array, over all dimensions; nothing if a bound is not known.
std::optional<uint64_t> ArrayCount(Dwarf_Die array);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_DWARF_TYPES_H_
