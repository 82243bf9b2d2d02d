#include "testgen/symbols/values/streams.h"

#include <dwarf.h>

#include <string>

#include "testgen/symbols/dwarf/members.h"
#include "testgen/symbols/dwarf/types.h"

namespace recrash {
namespace {

constexpr int kMaxClasses = 256;  // that are looked at: a damaged file's bases may go round in circles
constexpr uint64_t kMaxOffset = 1 << 12;
constexpr uint64_t kNoReads = 4;  // _IO_NO_READS in _flags, the first word of glibc's FILE

// libstdc++ instantiates its own classes in the library, so most units have only a declaration of them. They are known
// by their names. Each begins with its istream.
bool IsStandardIstream(DebugInfo& debug, Dwarf_Die& type) {
  const std::string name = DieName(type);
  for (const char* stream : {"basic_istream<char,", "basic_iostream<char,", "basic_ifstream<char,",
                             "basic_fstream<char,", "basic_istringstream<char,", "basic_stringstream<char,"})
    if (name.starts_with(stream)) return debug.ScopeOf(type) == "std::" && !IsOfLibcxx(type);
  return false;
}

// Returns where the std::istream lies in an object of class `type`.
std::optional<uint64_t> IstreamOffset(DebugInfo& debug, Dwarf_Die type, int& classes_left) {
  type = StripType(type);
  if (--classes_left < 0 || KindOf(type) != TypeKind::kClass) return std::nullopt;
  if (IsStandardIstream(debug, type)) return 0;
  type = ResolveType(debug, type);
  for (Dwarf_Die& base : ChildrenWithTag(type, DW_TAG_inheritance)) {
    // Only the object's vtable tells where a virtual base lies; the offset here is one into the vtable.
    if (AttributeNumber(base, DW_AT_virtuality).value_or(0) != 0) continue;
    const auto offset = AttributeNumber(base, DW_AT_data_member_location);
    const auto of = TypeOf(base);
    if (!offset || *offset > kMaxOffset || !of) continue;
    if (const auto inner = IstreamOffset(debug, *of, classes_left)) return *offset + *inner;
  }
  return std::nullopt;
}

bool IsFile(DebugInfo& debug, Dwarf_Die type) {
  type = StripType(type);
  return dwarf_tag(&type) == DW_TAG_structure_type && DieName(type) == "_IO_FILE" && debug.ScopeOf(type).empty();
}

}  // namespace

std::optional<ReplayStream> StreamOf(DebugInfo& debug, Dwarf_Die type, TargetAddress address,
                                     const ReportMemory& memory) {
  const TypeKind kind = KindOf(type);
  if (kind != TypeKind::kPointer && kind != TypeKind::kReference && kind != TypeKind::kRvalueReference)
    return std::nullopt;
  Dwarf_Die pointer = StripType(type);
  const auto target = TypeOf(pointer);
  if (!target || address.value == 0) return std::nullopt;
  ReplayStream stream;
  if (IsFile(debug, *target)) {
    stream.kind = StreamKind::kFile;
    const auto flags = memory.ReadNumber(address, 4);
    return flags && (*flags & kNoReads) == 0 ? std::optional(stream) : std::nullopt;
  }
  int classes_left = kMaxClasses;
  const auto offset = IstreamOffset(debug, *target, classes_left);
  if (!offset || *offset > kMaxOffset) return std::nullopt;
  stream.offset = static_cast<uint16_t>(*offset);
  return stream;
}

}  // namespace recrash
