#include "testgen/symbols/dwarf/eightbytes.h"

#include <dwarf.h>

#include <algorithm>

#include "testgen/symbols/dwarf/types.h"

namespace recrash {
namespace {

constexpr int kMaxNesting = 24;
constexpr uint64_t kInRegisters = 16;
constexpr uint64_t kMaxElements = 16;  // of an array that can lie in registers

Eightbyte Merge(Eightbyte a, Eightbyte b) {
  if (a == b || b == Eightbyte::kNone) return a;
  if (a == Eightbyte::kNone) return b;
  if (a == Eightbyte::kMemory || b == Eightbyte::kMemory) return Eightbyte::kMemory;
  if (a == Eightbyte::kInteger || b == Eightbyte::kInteger) return Eightbyte::kInteger;
  const auto is_x87 = [](Eightbyte c) { return c == Eightbyte::kX87 || c == Eightbyte::kX87Up; };
  return is_x87(a) || is_x87(b) ? Eightbyte::kMemory : Eightbyte::kSse;
}

class Classifier {
 public:
  explicit Classifier(DebugInfo& debug) : debug_(debug) {}

  // Merges what lies at `offset` into the classes. False when the type is outside the known rules.
  bool Add(Dwarf_Die type, uint64_t offset, int depth) {
    if (depth > kMaxNesting) return false;
    type = ResolveType(debug_, type);
    const uint64_t size = TypeSize(debug_, type);
    switch (KindOf(type)) {
      case TypeKind::kClass:
        return Members(type, offset, depth);
      case TypeKind::kArray:
        return Array(type, offset, size, depth);
      case TypeKind::kFloat:
        return Float(type, offset, size);
      case TypeKind::kMemberPointer:
      case TypeKind::kPointer:
      case TypeKind::kReference:
      case TypeKind::kRvalueReference:
      case TypeKind::kBool:
      case TypeKind::kSigned:
      case TypeKind::kUnsigned:
      case TypeKind::kCharacter:
      case TypeKind::kEnum:
        // A pointer to a member function is two words, each aligned for itself.
        return Scalar(offset, size, KindOf(type) == TypeKind::kMemberPointer ? 8 : size);
      default:
        return Other(type, offset, size);
    }
  }

  Eightbyte at(size_t index) const { return index < 2 ? classes_[index] : Eightbyte::kMemory; }
  bool any_memory() const { return memory_; }
  uint64_t alignment() const { return alignment_; }

 private:
  void Set(uint64_t offset, Eightbyte kind) {
    if (offset / 8 >= 2) {
      memory_ = true;  // more than two eightbytes never lie in registers, vectors aside
      return;
    }
    Eightbyte& slot = classes_[offset / 8];
    slot = Merge(slot, kind);
    memory_ = memory_ || slot == Eightbyte::kMemory;
  }

  bool Aligned(uint64_t offset, uint64_t alignment) {
    if (alignment == 0) return false;
    alignment_ = std::max(alignment_, alignment);
    if (offset % alignment != 0) memory_ = true;  // packed
    return true;
  }

  bool Scalar(uint64_t offset, uint64_t size, uint64_t alignment) {
    if (size == 0 || size > 16 || !Aligned(offset, alignment)) return false;
    for (uint64_t i = 0; i < size; i += 8) Set(offset + i, Eightbyte::kInteger);
    return true;
  }

  bool Float(Dwarf_Die& type, uint64_t offset, uint64_t size) {
    if (!Aligned(offset, size)) return false;
    if (size <= 8) {
      Set(offset, Eightbyte::kSse);
    } else {
      const bool is_x87 = DieName(type) == "long double";
      Set(offset, is_x87 ? Eightbyte::kX87 : Eightbyte::kSse);
      Set(offset + 8, is_x87 ? Eightbyte::kX87Up : Eightbyte::kSseUp);
    }
    return size <= 16;
  }

  // _Complex, and what has no rule here.
  bool Other(Dwarf_Die& type, uint64_t offset, uint64_t size) {
    if (AttributeNumber(type, DW_AT_encoding) != static_cast<uint64_t>(DW_ATE_complex_float)) return false;
    if (!Aligned(offset, size / 2)) return false;
    if (size > 16) memory_ = true;
    for (uint64_t i = 0; i < std::min<uint64_t>(size, 16); i += 8) Set(offset + i, Eightbyte::kSse);
    return true;
  }

  bool Array(Dwarf_Die& type, uint64_t offset, uint64_t size, int depth) {
    if (AttributeFlag(type, DW_AT_GNU_vector)) {
      if (size != 8 && size != 16) return false;
      Aligned(offset, size);
      Set(offset, Eightbyte::kSse);
      if (size == 16) Set(offset + 8, Eightbyte::kSseUp);
      return true;
    }
    const auto element = TypeOf(type);
    if (!element) return false;
    const uint64_t element_size = TypeSize(debug_, *element);
    if (size > kInRegisters) memory_ = true;
    const uint64_t count = element_size == 0 ? 0 : std::min(size / element_size, kMaxElements);
    for (uint64_t i = 0; i < count; ++i)
      if (!Add(*element, offset + i * element_size, depth + 1)) return false;
    return true;
  }

  bool Members(Dwarf_Die& type, uint64_t offset, int depth) {
    if (AttributeFlag(type, DW_AT_declaration)) return false;
    if (const auto alignment = AttributeNumber(type, DW_AT_alignment)) alignment_ = std::max(alignment_, *alignment);
    for (Dwarf_Die& child : Children(type)) {
      const int tag = dwarf_tag(&child);
      if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) || AttributeFlag(child, DW_AT_external)) continue;
      const auto inner = TypeOf(child);
      if (!inner) return false;
      if (const auto alignment = AttributeNumber(child, DW_AT_alignment)) alignment_ = std::max(alignment_, *alignment);
      if (const auto bits = AttributeNumber(child, DW_AT_bit_size)) {
        if (!BitField(child, *inner, offset, *bits)) return false;
        continue;
      }
      if (!Add(*inner, offset + AttributeNumber(child, DW_AT_data_member_location).value_or(0), depth + 1))
        return false;
    }
    return true;
  }

  bool BitField(Dwarf_Die& member, Dwarf_Die type, uint64_t offset, uint64_t bits) {
    const auto bit_offset = AttributeNumber(member, DW_AT_data_bit_offset);
    if (!bit_offset || bits == 0) return bits == 0;
    alignment_ = std::max(alignment_, TypeSize(debug_, type));
    const uint64_t base = AttributeNumber(member, DW_AT_data_member_location).value_or(0) * 8 + *bit_offset;
    Set(offset + base / 8, Eightbyte::kInteger);
    Set(offset + (base + bits - 1) / 8, Eightbyte::kInteger);
    return true;
  }

  DebugInfo& debug_;
  Eightbyte classes_[2] = {Eightbyte::kNone, Eightbyte::kNone};
  bool memory_ = false;
  uint64_t alignment_ = 1;
};

// The declared special members of a class as DWARF 4 has them.
bool HasOwnCopyOrDestructor(DebugInfo& debug, Dwarf_Die type, int depth) {
  type = ResolveType(debug, type);
  if (depth > kMaxNesting || KindOf(type) != TypeKind::kClass) return false;
  const std::string full = DieName(type);
  const std::string name = full.substr(0, full.find('<'));
  for (Dwarf_Die& child : Children(type)) {
    const int tag = dwarf_tag(&child);
    if (tag == DW_TAG_inheritance && AttributeNumber(child, DW_AT_virtuality).value_or(0) != 0) return true;
    if (tag == DW_TAG_inheritance || (tag == DW_TAG_member && !AttributeFlag(child, DW_AT_external))) {
      if (const auto inner = TypeOf(child); inner && HasOwnCopyOrDestructor(debug, *inner, depth + 1)) return true;
    }
    if (tag != DW_TAG_subprogram) continue;
    if (AttributeNumber(child, DW_AT_virtuality).value_or(0) != 0) return true;
    if (AttributeNumber(child, DW_AT_defaulted) == 1u || AttributeFlag(child, DW_AT_artificial)) continue;
    const std::string function = DieName(child);
    if (function == "~" + name) return true;
    if (function != name) continue;
    std::vector<Dwarf_Die> parameters = ChildrenWithTag(child, DW_TAG_formal_parameter);
    const auto first = parameters.size() == 2 ? TypeOf(parameters[1]) : std::nullopt;
    const TypeKind kind = first ? KindOf(*first) : TypeKind::kUnknown;
    if (kind != TypeKind::kReference && kind != TypeKind::kRvalueReference) continue;
    Dwarf_Die reference = StripType(*first);
    const auto target = TypeOf(reference);
    if (target && ResolveType(debug, *target).addr == type.addr) return true;
  }
  return false;
}

// Returns true if the class is passed by the address of a copy. DWARF 5 says so itself; for older debug information the
// declared constructors and destructors decide.
bool IsPassedByReference(DebugInfo& debug, Dwarf_Die type) {
  type = ResolveType(debug, type);
  if (KindOf(type) != TypeKind::kClass) return false;
  if (const auto convention = AttributeNumber(type, DW_AT_calling_convention)) {
    if (*convention == DW_CC_pass_by_reference) return true;
    if (*convention == DW_CC_pass_by_value) return false;
  }
  return HasOwnCopyOrDestructor(debug, type, 0);
}

}  // namespace

std::optional<Classification> Classify(DebugInfo& debug, Dwarf_Die type) {
  Classification result;
  type = ResolveType(debug, type);
  result.size = TypeSize(debug, type);
  result.by_reference = IsPassedByReference(debug, type);
  if (result.by_reference) {
    result.size = result.alignment = 8;
    return result;
  }
  Classifier classifier(debug);
  if (result.size == 0 || !classifier.Add(type, 0, 0)) return std::nullopt;
  result.alignment = classifier.alignment();
  result.in_memory = classifier.any_memory() || result.size > kInRegisters;
  for (uint64_t i = 0; i < result.size && !result.in_memory; i += 8) {
    const Eightbyte kind = classifier.at(i / 8);
    if (kind == Eightbyte::kX87 || kind == Eightbyte::kX87Up) {
      result.in_memory = result.x87 = true;
    } else if (kind == Eightbyte::kSseUp && (i == 0 || result.eightbytes.back() != Eightbyte::kSse)) {
      result.eightbytes.push_back(Eightbyte::kSse);
    } else {
      result.eightbytes.push_back(kind);
    }
  }
  if (result.in_memory) result.eightbytes.clear();
  // An empty class of one byte takes no register. Neither does a hole of padding.
  const bool nothing = std::all_of(result.eightbytes.begin(), result.eightbytes.end(),
                                   [](Eightbyte kind) { return kind == Eightbyte::kNone; });
  if (nothing) result.eightbytes.clear();
  return result;
}

}  // namespace recrash
