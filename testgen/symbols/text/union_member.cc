#include "testgen/symbols/text/union_member.h"

#include <dwarf.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "testgen/symbols/dwarf/expression.h"
#include "testgen/symbols/dwarf/members.h"
#include "testgen/symbols/dwarf/types.h"

namespace recrash {
namespace {

// "kWideText", "WIDE_TEXT" and "wide_text_" become "widetext".
std::string Plain(std::string_view name) {
  if (name.size() > 1 && name[0] == 'k' && name[1] >= 'A' && name[1] <= 'Z') name.remove_prefix(1);
  std::string plain;
  for (const char c : name)
    if (c != '_') plain += static_cast<char>(c >= 'A' && c <= 'Z' ? c | 32 : c);
  return plain;
}

// "TOKEN_TEXT" names `text`: prefixes are those of the enumeration.
bool Names(const std::string& enumerator, const std::string& member) {
  return member.size() > 1 && enumerator.ends_with(member);
}

uint64_t Masked(uint64_t value, size_t size) { return size >= 8 ? value : value & ((uint64_t{1} << (8 * size)) - 1); }

// Members by the enumerators' values; empty if they are not told apart.
std::map<uint64_t, Dwarf_Die> NamedMembers(Dwarf_Die enumeration, Dwarf_Die inner, size_t size) {
  std::map<uint64_t, Dwarf_Die> named;
  std::map<const void*, int> times;
  const std::vector<Dwarf_Die> members = ChildrenWithTag(inner, DW_TAG_member);
  for (Dwarf_Die& enumerator : ChildrenWithTag(enumeration, DW_TAG_enumerator)) {
    const auto value = AttributeSigned(enumerator, DW_AT_const_value);
    if (!value) continue;
    const std::string name = Plain(DieName(enumerator));
    for (Dwarf_Die member : members) {
      if (!Names(name, Plain(DieName(member)))) continue;
      if (++times[member.addr] > 1 || !named.emplace(Masked(static_cast<uint64_t>(*value), size), member).second)
        return {};
    }
  }
  return named;
}

}  // namespace

std::optional<Dwarf_Die> ActiveMember(DebugInfo& debug, Dwarf_Die outer, std::span<const uint8_t> outer_bytes,
                                      Dwarf_Die inner) {
  for (Dwarf_Die& beside : ChildrenWithTag(outer, DW_TAG_member)) {
    const auto type = TypeOf(beside);
    if (!type || KindOf(*type) != TypeKind::kEnum || AttributeFlag(beside, DW_AT_external)) continue;
    const auto bytes = MemberBytes(debug, beside, outer_bytes);
    if (!bytes) continue;
    const auto named = NamedMembers(ResolveType(debug, *type), inner, bytes->size());
    if (named.size() < 2) continue;
    const auto found = named.find(ToUnsigned(*bytes));
    if (found != named.end()) return found->second;
  }
  return std::nullopt;
}

}  // namespace recrash
