// Which member of a union holds the value, by an enumerator of a member beside the union.
//
//   struct Token { Kind kind; union { long number; const char* text; }; };  // Kind: kNumber, kText
#ifndef RECRASH_TESTGEN_SYMBOLS_TEXT_UNION_MEMBER_H_
#define RECRASH_TESTGEN_SYMBOLS_TEXT_UNION_MEMBER_H_

#include <elfutils/libdw.h>

#include <cstdint>
#include <optional>
#include <span>

#include "testgen/symbols/dwarf/debug_info.h"

namespace recrash {

// Returns the member of `inner`, the union, that the enumerator beside it names. Nothing unless at least two
// enumerators of that type name members, each another one: one alone may be a coincidence.
std::optional<Dwarf_Die> ActiveMember(DebugInfo& debug, Dwarf_Die outer, std::span<const uint8_t> outer_bytes,
                                      Dwarf_Die inner);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_TEXT_UNION_MEMBER_H_
