#include "testgen/literals/shapes.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace recrash {
namespace {

constexpr int kMostNesting = 24;  // of types that a hostile report made up
constexpr size_t kMostShapes = 20'000;
constexpr size_t kMostMembers = 200;

bool IsTemplate(const std::string& name, std::string_view of) {
  return name.starts_with(of) && name.size() > of.size() && name[of.size()] == '<';
}

// "std::__1::vector<int>" and "std::__cxx11::basic_string<char>" without the library's inner namespace.
std::string StandardName(const std::string& name) {
  for (const char* inner : {"std::__cxx11::", "std::__1::"})
    if (name.starts_with(inner)) return "std::" + name.substr(std::string_view(inner).size());
  return name;
}

}  // namespace

uint32_t Shapes::Add(uint32_t type) {
  if (type == 0 || type >= types_.size()) return 0;
  if (const auto known = by_type_.find(type); known != by_type_.end()) return known->second;
  if (shapes_.size() == kMostShapes) return 0;
  const auto place = static_cast<uint32_t>(shapes_.size());
  by_type_.emplace(type, place);  // first: a list's node leads to itself
  shapes_.emplace_back();
  Shape shape = Make(type);
  shapes_[place] = std::move(shape);
  return place;
}

Shape Shapes::Make(uint32_t type) {
  const TypeLayout& layout = At(type);
  Shape shape;
  shape.size = layout.size;
  shape.name = layout.name;
  shape.is_signed = layout.is_signed;
  switch (layout.form) {
    case TypeForm::kInteger:
      shape.kind = layout.name == "bool" ? ShapeKind::kBool : ShapeKind::kInteger;
      shape.is_character = layout.name == "char";
      shape.is_signed = shape.is_signed || shape.is_character || layout.name == "signed char";
      if (layout.size > 8) shape.kind = ShapeKind::kOpaque;
      break;
    case TypeForm::kEnum:
      shape.kind = layout.size <= 8 ? ShapeKind::kInteger : ShapeKind::kOpaque;
      for (const TypeMember& enumerator : layout.members)
        shape.enumerators.emplace(static_cast<int64_t>(enumerator.offset), enumerator.name);
      break;
    case TypeForm::kFloat:
      if (layout.size == 4 || layout.size == 8) shape.kind = ShapeKind::kReal;
      break;
    case TypeForm::kPointer:
      shape.kind = layout.name == "const char*" ? ShapeKind::kCharacters : ShapeKind::kAddress;
      shape.element = Add(layout.target);
      break;
    case TypeForm::kArray:
      shape.kind = layout.count && layout.size ? ShapeKind::kArray : ShapeKind::kOpaque;
      shape.count = layout.count;
      shape.element = Add(layout.target);
      if (At(layout.target).size * layout.count != layout.size) shape.kind = ShapeKind::kOpaque;
      break;
    case TypeForm::kClass:
      return MakeClass(layout);
    default:
      break;
  }
  return shape;
}

Shape Shapes::MakeClass(const TypeLayout& type) {
  Shape shape;
  shape.size = type.size;
  shape.name = type.name;
  if (type.name.starts_with("std::")) {
    if (!MakeStandard(type, &shape)) shape.kind = ShapeKind::kOpaque;
    return shape;
  }
  shape.kind = ShapeKind::kClass;
  AddMembers(type, 0, 0, &shape);
  return shape;
}

bool Shapes::MakeString(const TypeLayout& type, Shape* shape) const {
  if (Find(type, "_M_string_length") && type.size == 32) shape->kind = ShapeKind::kString;
  if (Find(type, "__r_") && type.size == 24) shape->kind = ShapeKind::kLibcxxString;
  if (Find(type, "__rep_") && type.size == 24) shape->kind = ShapeKind::kLibcxxString;
  return shape->kind != ShapeKind::kOpaque;
}

// Containers are known by their members, whose names are those of the library that made them.
bool Shapes::MakeStandard(const TypeLayout& type, Shape* shape) {
  const std::string name = StandardName(type.name);
  const auto element = [&] { return type.arguments.empty() ? 0 : Add(type.arguments[0]); };
  if (IsTemplate(name, "std::vector") && !name.starts_with("std::vector<bool")) {
    shape->kind = ShapeKind::kVector;
    shape->element = element();
    const bool is_known = Find(type, "_M_finish") || Find(type, "__begin_");
    return is_known && type.size == 24 && shape->element;
  }
  if (name == "std::string" || name.starts_with("std::basic_string<char,") || name == "std::basic_string<char>")
    return MakeString(type, shape);
  if (name == "std::string_view" || name.starts_with("std::basic_string_view<char")) {
    auto start = Find(type, "_M_str");
    if (!start) start = Find(type, "__data_");
    shape->kind = ShapeKind::kView;
    shape->offset = start ? start->offset : 0;
    return start && type.size == 16;
  }
  if (IsTemplate(name, "std::array")) {
    auto inner = Find(type, "_M_elems");
    if (!inner) inner = Find(type, "__elems_");
    const std::string spelled = shape->name;
    if (!inner || inner->offset != 0 || !Add(inner->type)) return false;
    *shape = shapes_[Add(inner->type)];
    shape->name = spelled;
    return true;
  }
  if (IsTemplate(name, "std::optional")) {
    auto engaged = Find(type, "_M_engaged");
    if (!engaged) engaged = Find(type, "__engaged_");
    shape->kind = ShapeKind::kOptional;
    shape->element = element();
    shape->offset = engaged ? engaged->offset : 0;
    return engaged && shape->element;
  }
  if (IsTemplate(name, "std::pair")) {
    shape->kind = ShapeKind::kClass;
    shape->is_wrapper = true;
    AddMembers(type, 0, 0, shape);
    return shape->members.size() == 2;
  }
  if (IsTemplate(name, "std::tuple")) {
    shape->kind = ShapeKind::kClass;
    shape->is_wrapper = true;
    std::map<uint64_t, ShapeMember> parts;
    AddParts(type, 0, 0, &parts);
    for (auto& [number, part] : parts) shape->members.push_back(std::move(part));
    return !parts.empty() && parts.rbegin()->first + 1 == parts.size();
  }
  if (IsTemplate(name, "std::atomic") && element() && shapes_[element()].size == type.size) {
    const std::string spelled = shape->name;
    *shape = shapes_[element()];
    shape->name = spelled;
    return true;
  }
  return false;
}

void Shapes::AddMembers(const TypeLayout& type, uint64_t start, int depth, Shape* shape) {
  if (depth > kMostNesting) return;
  for (const TypeMember& member : type.members) {
    if (shape->members.size() == kMostMembers) return;
    const TypeLayout& of = At(member.type);
    const uint64_t offset = start + member.offset;
    if (offset > shape->size || of.size > shape->size - offset) continue;
    switch (member.role) {
      case MemberRole::kMember:
        if (member.name.empty() && of.form == TypeForm::kClass)
          AddMembers(of, offset, depth + 1, shape);
        else
          shape->members.push_back({member.name, Add(member.type), offset, member.bit_offset, member.bit_size});
        break;
      case MemberRole::kBase:
        // A container that was given more members.
        if (of.name.starts_with("std::") && of.size > 1)
          shape->members.push_back({"", Add(member.type), offset, 0, 0});
        else
          AddMembers(of, offset, depth + 1, shape);
        break;
      case MemberRole::kVtable:
      case MemberRole::kVirtualBase:
        shape->members.push_back({"", 0, offset, 0, 0});
        break;
      case MemberRole::kEnumerator:
        break;
    }
  }
}

// Each element of a tuple is a base of its own, which has its number in its name.
void Shapes::AddParts(const TypeLayout& tuple, uint64_t start, int depth, std::map<uint64_t, ShapeMember>* parts) {
  if (depth > kMostNesting) return;
  for (const TypeMember& member : tuple.members) {
    const TypeLayout& base = At(member.type);
    for (const char* leaf : {"_Head_base<", "__tuple_leaf<"}) {
      const size_t at = base.name.find(leaf);
      if (at == std::string::npos || base.name.find('<') + 1 != at + std::string_view(leaf).size()) continue;
      const uint64_t number = std::strtoull(base.name.c_str() + at + std::string_view(leaf).size(), nullptr, 10);
      for (const TypeMember& value : base.members)
        if (value.role == MemberRole::kMember)
          (*parts)[number] = {"", Add(value.type), start + member.offset + value.offset, 0, 0};
    }
    if (base.name.find("_Tuple_impl<") != std::string::npos || base.name.find("__tuple_impl<") != std::string::npos)
      AddParts(base, start + member.offset, depth + 1, parts);
  }
}

std::optional<Shapes::Found> Shapes::Find(const TypeLayout& type, const std::string& member, int depth) const {
  if (depth > 6) return std::nullopt;
  for (const TypeMember& candidate : type.members)
    if (candidate.name == member && candidate.role == MemberRole::kMember)
      return Found{candidate.offset, candidate.type};
  for (const TypeMember& candidate : type.members) {
    const TypeLayout& of = At(candidate.type);
    if (of.form != TypeForm::kClass && of.form != TypeForm::kUnion) continue;
    if (auto found = Find(of, member, depth + 1)) return Found{candidate.offset + found->offset, found->type};
  }
  return std::nullopt;
}

bool Shapes::IsWhole(uint32_t place) const { return IsWhole(place, 0); }

bool Shapes::IsWhole(uint32_t place, int depth) const {
  const Shape& shape = shapes_[place];
  if (depth > kMostNesting) return false;
  switch (shape.kind) {
    case ShapeKind::kOpaque:
    case ShapeKind::kAddress:
      return false;
    case ShapeKind::kArray:
    case ShapeKind::kVector:
    case ShapeKind::kOptional:
      return IsWhole(shape.element, depth + 1);
    case ShapeKind::kClass:
      return !shape.members.empty() &&
             std::ranges::all_of(shape.members, [&](const ShapeMember& m) { return IsWhole(m.shape, depth + 1); });
    default:
      return true;
  }
}

}  // namespace recrash
