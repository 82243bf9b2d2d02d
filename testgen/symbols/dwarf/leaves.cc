#include "testgen/symbols/dwarf/leaves.h"

#include <dwarf.h>

#include "testgen/symbols/dwarf/types.h"

namespace recrash {
namespace {

constexpr size_t kMostLeaves = 512;
constexpr int kDeepest = 16;

class Collector {
 public:
  explicit Collector(DebugInfo& debug) : debug_(debug) {}

  bool Add(Dwarf_Die type, uint64_t offset, int depth) {
    type = ResolveType(debug_, type);
    const uint64_t size = TypeSize(debug_, type);
    if (size == 0 || depth > kDeepest || leaves_.size() >= kMostLeaves) return false;
    switch (KindOf(type)) {
      case TypeKind::kBool:
      case TypeKind::kSigned:
      case TypeKind::kUnsigned:
      case TypeKind::kFloat:
      case TypeKind::kCharacter:
      case TypeKind::kEnum:
        leaves_.push_back({Leaf::Kind::kValue, offset, size});
        return true;
      case TypeKind::kPointer:
      case TypeKind::kReference:
      case TypeKind::kRvalueReference:
        leaves_.push_back({Leaf::Kind::kAddress, offset, size, type});
        return true;
      case TypeKind::kArray:
        return AddArray(type, offset, size, depth);
      case TypeKind::kClass:
        return dwarf_tag(&type) == DW_TAG_union_type ? AddOpaque(offset, size) : AddClass(type, offset, depth);
      default:
        return AddOpaque(offset, size);
    }
  }

  std::vector<Leaf> Take() { return std::move(leaves_); }

 private:
  bool AddOpaque(uint64_t offset, uint64_t size) {
    leaves_.push_back({Leaf::Kind::kOpaque, offset, size});
    return true;
  }

  bool AddArray(Dwarf_Die& array, uint64_t offset, uint64_t size, int depth) {
    const auto element = TypeOf(array);
    const uint64_t step = element ? TypeSize(debug_, *element) : 0;
    if (step == 0) return false;
    if (const TypeKind kind = KindOf(ResolveType(debug_, *element));
        kind == TypeKind::kCharacter || kind == TypeKind::kUnsigned) {
      leaves_.push_back({Leaf::Kind::kValue, offset, size});
      return true;
    }
    for (uint64_t at = 0; at + step <= size; at += step)
      if (!Add(*element, offset + at, depth + 1)) return false;
    return true;
  }

  // A base that is virtual, or a member without a place, is nowhere that is known here.
  bool AddClass(Dwarf_Die& type, uint64_t offset, int depth) {
    for (Dwarf_Die& child : Children(type)) {
      const int tag = dwarf_tag(&child);
      if (tag != DW_TAG_member && tag != DW_TAG_inheritance) continue;
      if (AttributeFlag(child, DW_AT_external) || AttributeFlag(child, DW_AT_declaration)) continue;
      const auto of = TypeOf(child);
      if (!of || AttributeNumber(child, DW_AT_virtuality).value_or(0) != 0) return false;
      if (IsEmpty(*of)) continue;
      if (const auto bits = AttributeNumber(child, DW_AT_data_bit_offset)) {
        AddOpaque(offset + *bits / 8, 1);
        continue;
      }
      const auto at = AttributeNumber(child, DW_AT_data_member_location);
      const bool is_first = tag == DW_TAG_member && !at;
      if (!at && !is_first) return false;
      if (!Add(*of, offset + at.value_or(0), depth + 1)) return false;
    }
    return true;
  }

  // Of no leaves; it may lie where another member does.
  bool IsEmpty(Dwarf_Die type) {
    type = ResolveType(debug_, type);
    return KindOf(type) == TypeKind::kClass && ChildrenWithTag(type, DW_TAG_member).empty() &&
           ChildrenWithTag(type, DW_TAG_inheritance).empty();
  }

  DebugInfo& debug_;
  std::vector<Leaf> leaves_;
};

}  // namespace

std::optional<std::vector<Leaf>> LeavesOf(DebugInfo& debug, Dwarf_Die type) {
  Collector collector(debug);
  if (!collector.Add(type, 0, 0)) return std::nullopt;
  return collector.Take();
}

}  // namespace recrash
