// Types as DWARF describes them: spelled as a developer would write them, and taken apart.
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
// Returns the type without typedefs and qualifiers.
Dwarf_Die StripType(Dwarf_Die type);
// The same; in addition, replaces a class that its unit only declares by its definition.
Dwarf_Die ResolveType(DebugInfo& debug, Dwarf_Die type);
// Returns true if a const stands before the first thing that is neither typedef nor qualifier.
bool IsConstType(Dwarf_Die type);
uint64_t TypeSize(DebugInfo& debug, Dwarf_Die type);
TypeKind KindOf(Dwarf_Die type);
// Returns the type as written in C++: "const std::string&", "int (*)(char)", "Tree*". Nothing is "void".
std::string SpellType(DebugInfo& debug, std::optional<Dwarf_Die> type);
// Fills `levels` levels of what pointers and references point to.
Type DescribeType(DebugInfo& debug, std::optional<Dwarf_Die> type, int levels = 1);
// Returns the number of elements of an array, over all dimensions; nothing if a bound is not known.
std::optional<uint64_t> ArrayCount(Dwarf_Die array);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_DWARF_TYPES_H_
