#include "testgen/symbols/dwarf/types.h"

#include <dwarf.h>

#include "testgen/symbols/dwarf/names.h"

namespace recrash {
namespace {

constexpr int kMaxNesting = 32;
constexpr size_t kMaxEnumerators = 4096;

bool IsQualifier(int tag) {
  return tag == DW_TAG_const_type || tag == DW_TAG_volatile_type || tag == DW_TAG_restrict_type ||
         tag == DW_TAG_atomic_type;
}

// Returns the type that a typedef or a qualifier stands for; nothing for any other type.
std::optional<Dwarf_Die> TypeBehind(Dwarf_Die& type) {
  const int tag = dwarf_tag(&type);
  return tag == DW_TAG_typedef || IsQualifier(tag) ? TypeOf(type) : std::nullopt;
}

bool IsIndirection(int tag) {
  return tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type || tag == DW_TAG_rvalue_reference_type ||
         tag == DW_TAG_ptr_to_member_type;
}

TypeKind BaseKind(Dwarf_Die& type) {
  const std::string name = DieName(type);
  switch (AttributeNumber(type, DW_AT_encoding).value_or(0)) {
    case DW_ATE_boolean:
      return TypeKind::kBool;
    case DW_ATE_float:
      return TypeKind::kFloat;
    case DW_ATE_UTF:
      return TypeKind::kCharacter;
    case DW_ATE_signed_char:
    case DW_ATE_unsigned_char:
      // signed char and unsigned char are int8_t and uint8_t to most people.
      if (name == "char") return TypeKind::kCharacter;
      return name == "signed char" ? TypeKind::kSigned : TypeKind::kUnsigned;
    case DW_ATE_signed:
      return name == "wchar_t" ? TypeKind::kCharacter : TypeKind::kSigned;
    case DW_ATE_unsigned:
      return TypeKind::kUnsigned;
    default:
      return TypeKind::kUnknown;
  }
}

class Speller {
 public:
  explicit Speller(DebugInfo& debug) : debug_(debug) {}

  // C declarators are written inside out: `declarator` is what stands after, or around, the type so far.
  std::string Spell(std::optional<Dwarf_Die> type, const std::string& declarator, const std::string& qualifiers,
                    int depth) {
    if (!type) return qualifiers + "void" + declarator;
    if (depth > kMaxNesting) return "…" + declarator;
    const int tag = dwarf_tag(&*type);
    const std::optional<Dwarf_Die> target = TypeOf(*type);
    if (IsQualifier(tag)) return Spell(target, declarator, WithQualifier(qualifiers, tag), depth + 1);
    switch (tag) {
      case DW_TAG_pointer_type:
        return Around(target, "*" + After(qualifiers) + declarator, depth);
      case DW_TAG_reference_type:
        return Around(target, "&" + declarator, depth);
      case DW_TAG_rvalue_reference_type:
        return Around(target, "&&" + declarator, depth);
      case DW_TAG_ptr_to_member_type:
        return MemberPointer(*type, target, After(qualifiers) + declarator, depth);
      case DW_TAG_array_type:
        return Spell(target, declarator + Dimensions(*type), qualifiers, depth + 1);
      case DW_TAG_subroutine_type:
        return Spell(target, (declarator.empty() ? " " : declarator) + ParameterList(*type, false, depth), "",
                     depth + 1);
      default:
        return qualifiers + Named(*type, tag) + declarator;
    }
  }

 private:
  static std::string WithQualifier(const std::string& qualifiers, int tag) {
    const std::string word = tag == DW_TAG_const_type ? "const " : tag == DW_TAG_volatile_type ? "volatile " : "";
    return qualifiers.find(word) == std::string::npos || qualifiers.empty() ? qualifiers + word : qualifiers;
  }
  // "const " before a name is " const" after a star.
  static std::string After(const std::string& qualifiers) {
    return qualifiers.empty() ? "" : " " + qualifiers.substr(0, qualifiers.size() - 1);
  }

  std::string Around(std::optional<Dwarf_Die> target, const std::string& inner, int depth) {
    const int tag = target ? dwarf_tag(&*target) : 0;
    const bool bracket = tag == DW_TAG_array_type || tag == DW_TAG_subroutine_type;
    return Spell(target, bracket ? " (" + inner + ")" : inner, "", depth + 1);
  }

  std::string MemberPointer(Dwarf_Die& type, std::optional<Dwarf_Die> target, const std::string& rest, int depth) {
    const std::optional<Dwarf_Die> owner = AttributeDie(type, DW_AT_containing_type);
    const std::string inner = (owner ? Spell(owner, "", "", depth + 1) : "?") + "::*" + rest;
    if (!target || dwarf_tag(&*target) != DW_TAG_subroutine_type) return Spell(target, " " + inner, "", depth + 1);
    const std::string suffix = IsOfConstObject(*target) ? " const" : "";
    return Spell(TypeOf(*target), " (" + inner + ")" + ParameterList(*target, true, depth) + suffix, "", depth + 1);
  }

  // The receiver of a const method points to a const object.
  static bool IsOfConstObject(Dwarf_Die& method) {
    for (Dwarf_Die& child : ChildrenWithTag(method, DW_TAG_formal_parameter)) {
      const auto type = TypeOf(child);
      if (!type || !AttributeFlag(child, DW_AT_artificial)) return false;
      Dwarf_Die pointer = StripType(*type);
      const auto target = TypeOf(pointer);
      return target && IsConstType(*target);
    }
    return false;
  }

  std::string ParameterList(Dwarf_Die& function, bool skip_receiver, int depth) {
    std::string text = "(";
    for (Dwarf_Die& child : Children(function)) {
      const int tag = dwarf_tag(&child);
      if (tag == DW_TAG_formal_parameter && skip_receiver && AttributeFlag(child, DW_AT_artificial)) continue;
      if (tag != DW_TAG_formal_parameter && tag != DW_TAG_unspecified_parameters) continue;
      if (text.size() > 1) text += ", ";
      text += tag == DW_TAG_formal_parameter ? Spell(TypeOf(child), "", "", depth + 1) : "...";
    }
    return text + ")";
  }

  static std::string Dimensions(Dwarf_Die& array) {
    std::string text;
    for (Dwarf_Die& range : ChildrenWithTag(array, DW_TAG_subrange_type)) {
      const auto count = AttributeNumber(range, DW_AT_count);
      const auto upper = AttributeSigned(range, DW_AT_upper_bound);
      text += count ? "[" + std::to_string(*count) + "]" : upper ? "[" + std::to_string(*upper + 1) + "]" : "[]";
    }
    return text;
  }

  std::string Named(Dwarf_Die& type, int tag) {
    const std::string name = DieName(type);
    if (tag == DW_TAG_unspecified_type) return name == "decltype(nullptr)" ? "std::nullptr_t" : name;
    if (tag == DW_TAG_base_type) return name;
    if (!name.empty()) return SimplifyName(debug_.ScopeOf(type) + name);
    switch (tag) {
      case DW_TAG_enumeration_type:
        return "(anonymous enum)";
      case DW_TAG_union_type:
        return "(anonymous union)";
      default:
        return "(anonymous class)";
    }
  }

  DebugInfo& debug_;
};

void DescribeEnum(Dwarf_Die type, Type& into) {
  if (const auto underlying = TypeOf(type)) into.is_signed = KindOf(*underlying) == TypeKind::kSigned;
  for (Dwarf_Die& child : ChildrenWithTag(type, DW_TAG_enumerator)) {
    if (into.enumerators.size() >= kMaxEnumerators) break;
    auto value = AttributeSigned(child, DW_AT_const_value);
    // A value above INT64_MAX keeps its bits.
    if (const auto bits = AttributeNumber(child, DW_AT_const_value); bits && !into.is_signed)
      value = static_cast<int64_t>(*bits);
    if (!value) continue;
    into.enumerators.push_back({DieName(child), *value});
  }
}

}  // namespace

std::optional<Dwarf_Die> TypeOf(Dwarf_Die& die) { return AttributeDie(die, DW_AT_type); }

Dwarf_Die StripType(Dwarf_Die type) {
  for (int i = 0; i < kMaxNesting; ++i) {
    const auto target = TypeBehind(type);
    if (!target) break;
    type = *target;
  }
  return type;
}

Dwarf_Die ResolveType(DebugInfo& debug, Dwarf_Die type) {
  type = StripType(type);
  if (AttributeFlag(type, DW_AT_declaration))
    if (const auto definition = debug.DefinitionOf(type)) return *definition;
  return type;
}

bool IsConstType(Dwarf_Die type) {
  for (int i = 0; i < kMaxNesting && dwarf_tag(&type) != DW_TAG_const_type; ++i) {
    const auto target = TypeBehind(type);
    if (!target) return false;
    type = *target;
  }
  return dwarf_tag(&type) == DW_TAG_const_type;
}

uint64_t TypeSize(DebugInfo& debug, Dwarf_Die type) {
  Dwarf_Die resolved = ResolveType(debug, type);
  const int tag = dwarf_tag(&resolved);
  // References have no size in DWARF; in memory, and as arguments, they are pointers.
  if (tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type || tag == DW_TAG_rvalue_reference_type) return 8;
  if (tag == DW_TAG_ptr_to_member_type) {
    const auto target = TypeOf(resolved);
    return target && KindOf(*target) == TypeKind::kFunction ? 16 : 8;
  }
  if (tag == DW_TAG_unspecified_type) return 8;  // std::nullptr_t
  Dwarf_Word size = 0;
  return dwarf_aggregate_size(&resolved, &size) == 0 ? size : 0;
}

TypeKind KindOf(Dwarf_Die type) {
  Dwarf_Die stripped = StripType(type);
  switch (dwarf_tag(&stripped)) {
    case DW_TAG_base_type:
      return BaseKind(stripped);
    case DW_TAG_enumeration_type:
      return TypeKind::kEnum;
    case DW_TAG_pointer_type:
    case DW_TAG_unspecified_type:
      return TypeKind::kPointer;
    case DW_TAG_reference_type:
      return TypeKind::kReference;
    case DW_TAG_rvalue_reference_type:
      return TypeKind::kRvalueReference;
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
      return TypeKind::kClass;
    case DW_TAG_array_type:
      return TypeKind::kArray;
    case DW_TAG_ptr_to_member_type:
      return TypeKind::kMemberPointer;
    case DW_TAG_subroutine_type:
      return TypeKind::kFunction;
    default:
      return TypeKind::kUnknown;
  }
}

std::string SpellType(DebugInfo& debug, std::optional<Dwarf_Die> type) { return Speller(debug).Spell(type, "", "", 0); }

Type DescribeType(DebugInfo& debug, std::optional<Dwarf_Die> die, int levels) {
  Type type;
  type.name = SpellType(debug, die);
  if (!die) return type;
  type.kind = KindOf(*die);
  type.is_const = IsConstType(*die);
  type.size = TypeSize(debug, *die);
  Dwarf_Die resolved = ResolveType(debug, *die);
  if (type.kind == TypeKind::kEnum) DescribeEnum(resolved, type);
  const int tag = dwarf_tag(&resolved);
  if (!IsIndirection(tag) || tag == DW_TAG_ptr_to_member_type) return type;
  const auto target = TypeOf(resolved);
  Type pointee;
  if (levels > 0) {
    pointee = DescribeType(debug, target, levels - 1);
  } else {
    pointee.name = SpellType(debug, target);
    if (target) pointee.kind = KindOf(*target);
  }
  type.pointee.push_back(std::move(pointee));
  return type;
}

std::optional<uint64_t> ArrayCount(Dwarf_Die array) {
  uint64_t total = 1;
  for (Dwarf_Die& range : ChildrenWithTag(array, DW_TAG_subrange_type)) {
    auto count = AttributeNumber(range, DW_AT_count);
    if (const auto upper = AttributeSigned(range, DW_AT_upper_bound); !count && upper && *upper >= -1)
      count = static_cast<uint64_t>(*upper + 1);
    if (!count || *count > UINT32_MAX || total * *count > UINT32_MAX) return std::nullopt;
    total *= *count;
  }
  return total;
}

}  // namespace recrash
