// Members of classes: where they lie and what they hold.
//
//   if (const auto offset = MemberOffset(debug, type, "_M_start")) start = ReadWord(object + *offset);
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

// Returns the bytes of `member` in `object`; nothing if the object ends before it. A bit-field is shifted down and
// extended to the size of its type.
std::optional<std::vector<uint8_t>> MemberBytes(DebugInfo& debug, Dwarf_Die member, std::span<const uint8_t> object);

// A member, and where it lies in the object.
struct FoundMember {
  Dwarf_Die member{};
  uint64_t offset = 0;
};

// Finds the member `name` in an object of class `type`. Looks in bases and in members of classes too.
std::optional<FoundMember> FindMember(DebugInfo& debug, Dwarf_Die type, std::string_view name);
// Returns the offset of the member `name` that FindMember finds.
std::optional<uint64_t> MemberOffset(DebugInfo& debug, Dwarf_Die type, std::string_view name);

// Returns the alignment that the type has by itself: that of its largest part, unless the source says more.
uint64_t AlignmentOf(DebugInfo& debug, Dwarf_Die type);

// Returns true if the class, or its first base, begins with a pointer to a vtable.
bool HasVtablePointer(DebugInfo& debug, Dwarf_Die type);

// Returns true if `type`, a class in namespace std, is libc++'s.
bool IsOfLibcxx(Dwarf_Die type);

// Returns the type argument at `number`, from 0, of a class that a template made; nothing if it has fewer.
std::optional<Dwarf_Die> TemplateArgument(Dwarf_Die type, size_t number);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_DWARF_MEMBERS_H_
