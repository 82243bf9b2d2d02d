// Members of classes: where they lie and what they hold.
#ifndef RECRASH_TESTGEN_SYMBOLS_DWARF_MEMBERS_H_
#define RECRASH_TESTGEN_SYMBOLS_DWARF_MEMBERS_H_

#include <elfutils/libdw.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "testgen/symbols/dwarf/debug_info.h"

namespace recrash {

// Returns the bytes of `member` in an object. A bit-field is shifted down and extended to the size of its type.
std::optional<std::vector<uint8_t>> MemberBytes(DebugInfo& debug, Dwarf_Die member, std::span<const uint8_t> object);

// Returns the offset of the member `name`. Looks in bases and in the types of members as well.
std::optional<uint64_t> MemberOffset(DebugInfo& debug, Dwarf_Die type, std::string_view name);

// Returns true if the class, or its first base, begins with a pointer to a vtable.
bool HasVtablePointer(DebugInfo& debug, Dwarf_Die type);

// Returns true if `type`, a class in namespace std, is libc++'s.
bool IsOfLibcxx(Dwarf_Die type);

std::optional<Dwarf_Die> TemplateArgument(Dwarf_Die type, size_t number);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_DWARF_MEMBERS_H_
