#include "testgen/symbols/dwarf/members.h"

#include <dwarf.h>

#include <algorithm>
#include <cstring>

#include "testgen/symbols/dwarf/types.h"

namespace recrash {
namespace {

constexpr int kMaxNesting = 12;

// Bits from `bit_offset` of the object: DW_AT_data_bit_offset of DWARF 4 and 5 counts from the object's start.
std::optional<std::vector<uint8_t>> BitField(std::span<const uint8_t> object, uint64_t bit_offset, uint64_t bits,
                                             uint64_t size, bool is_signed) {
  if (bits == 0 || bits > 64 || size > 8 || size == 0) return std::nullopt;
  uint64_t value = 0;
  for (uint64_t i = 0; i < bits; ++i) {
    const uint64_t at = bit_offset + i;
    if (at / 8 >= object.size()) return std::nullopt;
    value |= static_cast<uint64_t>(object[at / 8] >> (at % 8) & 1) << i;
  }
  if (is_signed && bits < 64 && (value >> (bits - 1) & 1) != 0) value |= ~uint64_t{0} << bits;
  std::vector<uint8_t> bytes(size);
  std::memcpy(bytes.data(), &value, size);
  return bytes;
}

std::optional<FoundMember> Find(DebugInfo& debug, Dwarf_Die type, std::string_view name, int depth) {
  if (depth > kMaxNesting) return std::nullopt;
  Dwarf_Die resolved = ResolveType(debug, type);
  for (Dwarf_Die& child : Children(resolved)) {
    const int tag = dwarf_tag(&child);
    if (tag != DW_TAG_member && tag != DW_TAG_inheritance) continue;
    if (AttributeFlag(child, DW_AT_external)) continue;
    // The members of a union have no location, and lie at its start.
    const uint64_t offset = AttributeNumber(child, DW_AT_data_member_location).value_or(0);
    if (tag == DW_TAG_member && DieName(child) == name) return FoundMember{child, offset};
    const auto inner = TypeOf(child);
    if (!inner || KindOf(*inner) != TypeKind::kClass) continue;
    if (const auto found = Find(debug, *inner, name, depth + 1))
      return FoundMember{found->member, offset + found->offset};
  }
  return std::nullopt;
}

uint64_t Alignment(DebugInfo& debug, Dwarf_Die type, int depth) {
  Dwarf_Die resolved = ResolveType(debug, type);
  if (const auto given = AttributeNumber(resolved, DW_AT_alignment)) return *given;
  const TypeKind kind = KindOf(resolved);
  if (kind == TypeKind::kArray) {
    const auto element = TypeOf(resolved);
    return element && depth < kMaxNesting ? Alignment(debug, *element, depth + 1) : 1;
  }
  if (kind == TypeKind::kMemberPointer) return 8;
  if (kind != TypeKind::kClass) return std::clamp<uint64_t>(TypeSize(debug, resolved), 1, 16);
  uint64_t most = 1;
  for (Dwarf_Die& child : Children(resolved)) {
    const int tag = dwarf_tag(&child);
    if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) || AttributeFlag(child, DW_AT_external)) continue;
    const auto part = TypeOf(child);
    if (part && depth < kMaxNesting) most = std::max(most, Alignment(debug, *part, depth + 1));
  }
  return most;
}

}  // namespace

std::optional<std::vector<uint8_t>> MemberBytes(DebugInfo& debug, Dwarf_Die member, std::span<const uint8_t> object) {
  const auto type = TypeOf(member);
  if (!type) return std::nullopt;
  const uint64_t size = TypeSize(debug, *type);
  const uint64_t offset = AttributeNumber(member, DW_AT_data_member_location).value_or(0);
  if (const auto bits = AttributeNumber(member, DW_AT_bit_size)) {
    const auto bit_offset = AttributeNumber(member, DW_AT_data_bit_offset);
    if (!bit_offset) return std::nullopt;  // DWARF 3's way of counting from the other end
    const TypeKind kind = KindOf(*type);
    return BitField(object, offset * 8 + *bit_offset, *bits, size, kind == TypeKind::kSigned);
  }
  if (offset > object.size() || size > object.size() - offset) return std::nullopt;
  const auto bytes = object.subspan(offset, size);
  return std::vector<uint8_t>(bytes.begin(), bytes.end());
}

std::optional<uint64_t> MemberOffset(DebugInfo& debug, Dwarf_Die type, std::string_view name) {
  const auto found = Find(debug, type, name, 0);
  return found ? std::optional(found->offset) : std::nullopt;
}

std::optional<FoundMember> FindMember(DebugInfo& debug, Dwarf_Die type, std::string_view name) {
  return Find(debug, type, name, 0);
}

uint64_t AlignmentOf(DebugInfo& debug, Dwarf_Die type) { return Alignment(debug, type, 0); }

bool HasVtablePointer(DebugInfo& debug, Dwarf_Die type) {
  for (int i = 0; i < kMaxNesting; ++i) {
    type = ResolveType(debug, type);
    std::optional<Dwarf_Die> base;
    for (Dwarf_Die& child : Children(type)) {
      const int tag = dwarf_tag(&child);
      if (tag == DW_TAG_member && DieName(child).starts_with("_vptr")) return true;
      if (tag == DW_TAG_inheritance && !base && AttributeNumber(child, DW_AT_data_member_location) == 0u)
        base = TypeOf(child);
    }
    if (!base) return false;
    type = *base;
  }
  return false;
}

// A mere declaration has no file. But default template arguments in its name lie in libc++'s inline namespace.
bool IsOfLibcxx(Dwarf_Die type) {
  return DieName(type).find("std::__1::") != std::string::npos ||
         DebugInfo::DeclaredAt(type).file.find("/c++/v1/") != std::string::npos;
}

std::optional<Dwarf_Die> TemplateArgument(Dwarf_Die type, size_t number) {
  std::vector<Dwarf_Die> arguments = ChildrenWithTag(type, DW_TAG_template_type_parameter);
  return number < arguments.size() ? TypeOf(arguments[number]) : std::nullopt;
}

}  // namespace recrash
