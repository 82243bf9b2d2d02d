#include "testgen/symbols/layout/layout_reader.h"

#include <dwarf.h>

#include <algorithm>
#include <functional>
#include <set>

#include "agent/base/tool_function.h"
#include "testgen/symbols/dwarf/members.h"
#include "testgen/symbols/dwarf/types.h"
#include "testgen/symbols/layout/vtable_slots.h"

namespace recrash {
namespace {

constexpr int kMaxNesting = 64;
constexpr size_t kMostMembers = 10'000;

bool IsClassTag(int tag) {
  return tag == DW_TAG_class_type || tag == DW_TAG_structure_type || tag == DW_TAG_union_type;
}

bool IsOfLibrary(const std::string& scope) { return scope.starts_with("std::") || scope.starts_with("__gnu_cxx::"); }

TypeForm FormOf(TypeKind kind, int tag) {
  switch (kind) {
    case TypeKind::kBool:
    case TypeKind::kSigned:
    case TypeKind::kUnsigned:
    case TypeKind::kCharacter:
      return TypeForm::kInteger;
    case TypeKind::kFloat:
      return TypeForm::kFloat;
    case TypeKind::kEnum:
      return TypeForm::kEnum;
    case TypeKind::kPointer:
      return tag == DW_TAG_unspecified_type ? TypeForm::kUnknown : TypeForm::kPointer;
    case TypeKind::kReference:
    case TypeKind::kRvalueReference:
      return TypeForm::kPointer;
    case TypeKind::kClass:
      return tag == DW_TAG_union_type ? TypeForm::kUnion : TypeForm::kClass;
    case TypeKind::kArray:
      return TypeForm::kArray;
    case TypeKind::kMemberPointer:
      return TypeForm::kMemberPointer;
    case TypeKind::kFunction:
      return TypeForm::kFunction;
    default:
      return TypeForm::kUnknown;
  }
}

// Under which names libstdc++ has the nodes of a container, whose own members lead to bases of nodes alone. The
// argument of its allocator is what a node holds.
std::vector<std::string> NodeNames(const std::string& container) {
  const size_t start = container.rfind("std::allocator<");
  const auto is = [&](const char* prefix) { return container.starts_with(prefix); };
  const bool is_tree = is("map<") || is("set<") || is("multimap<") || is("multiset<");
  if (start == std::string::npos || (!is_tree && !is("list<") && !is("unordered_"))) return {};
  size_t from = 0, end = 0;
  // The allocator's own text may hold allocators: the outermost one is sought.
  for (size_t at = container.find("std::allocator<"); at != std::string::npos;
       at = container.find("std::allocator<", at + 1)) {
    from = at + sizeof "std::allocator<" - 1;
    int depth = 1;
    for (end = from; end < container.size() && depth > 0; ++end)
      depth += container[end] == '<' ? 1 : container[end] == '>' ? -1 : 0;
    // The last argument: nothing but closing brackets follows.
    if (container.find_first_not_of(" >", end) == std::string::npos) break;
  }
  if (end <= from) return {};
  std::string held = container.substr(from, end - 1 - from);
  while (held.ends_with(' ')) held.pop_back();
  const std::string close = held.ends_with('>') ? " >" : ">";
  if (is_tree) return {"std::_Rb_tree_node<" + held + close};
  if (is("list<")) return {"std::_List_node<" + held + close};
  return {"std::__detail::_Hash_node<" + held + ", false>", "std::__detail::_Hash_node<" + held + ", true>"};
}

void AddEnumerators(Dwarf_Die& type, TypeLayout* layout) {
  for (Dwarf_Die& child : ChildrenWithTag(type, DW_TAG_enumerator)) {
    if (layout->members.size() == kMostMembers) break;
    const auto value = AttributeSigned(child, DW_AT_const_value);
    if (!value) continue;
    layout->members.push_back({MemberRole::kEnumerator, DieName(child), static_cast<uint64_t>(*value), 0, 0, 0});
  }
}

}  // namespace

// Instances of a template stand in one line: std::string and std::u32string have a union each.
std::string LayoutReader::NameOf(Dwarf_Die& type) {
  const std::string name = DieName(type);
  const std::string& scope = debug_.ScopeOf(type);
  // g++ does not tell lambdas apart there.
  if (name.find("<lambda(") != name.npos) return scope + name + "@" + std::to_string(dwarf_dieoffset(&type));
  if (!name.empty() && !scope.empty()) return scope + name;
  const SourceLine at = DebugInfo::DeclaredAt(type);
  return scope + name + "@" + at.file + ":" + std::to_string(at.line) + ":" + std::to_string(TypeSize(debug_, type));
}

uint32_t LayoutReader::Place(std::optional<Dwarf_Die> given) {
  if (!given) return 0;
  Dwarf_Die type = ResolveType(debug_, *given);
  const auto [slot, is_new] = by_die_.try_emplace(type.addr, 0);
  if (!is_new) return slot->second;
  uint32_t& place = slot->second;
  const int tag = dwarf_tag(&type);
  if (IsClassTag(tag) || tag == DW_TAG_enumeration_type) {
    const auto known = by_name_.find(NameOf(type));
    if (known != by_name_.end()) return place = known->second;
  }
  if (types_.size() == kMostTypes) return 0;
  place = static_cast<uint32_t>(types_.size());
  types_.emplace_back();
  if (IsClassTag(tag) || tag == DW_TAG_enumeration_type) by_name_.emplace(NameOf(type), place);
  pending_.push_back({place, type});
  return place;
}

uint32_t LayoutReader::Add(std::optional<Dwarf_Die> type) {
  const uint32_t place = Place(type);
  while (!pending_.empty()) {
    const Pending next = pending_.back();
    pending_.pop_back();
    Fill(next.place, next.type);
  }
  return place;
}

uint32_t LayoutReader::Find(const std::string& name) const {
  const auto known = by_name_.find(name);
  return known == by_name_.end() ? 0 : known->second;
}

uint32_t LayoutReader::AddResult(Dwarf_Die function) {
  const auto type = TypeOf(function);
  return type && KindOf(*type) == TypeKind::kClass ? Add(type) : 0;
}

void LayoutReader::Fill(uint32_t place, Dwarf_Die type) {
  TypeLayout layout;
  const int tag = dwarf_tag(&type);
  const TypeKind kind = KindOf(type);
  layout.form = FormOf(kind, tag);
  layout.name = SpellType(debug_, type);
  layout.size = TypeSize(debug_, type);
  layout.is_signed = kind == TypeKind::kSigned;
  switch (layout.form) {
    case TypeForm::kEnum: {
      const auto underlying = TypeOf(type);
      layout.is_signed = underlying && KindOf(*underlying) == TypeKind::kSigned;
      AddEnumerators(type, &layout);
      break;
    }
    case TypeForm::kPointer:
      layout.target = Place(TypeOf(type));
      break;
    case TypeForm::kMemberPointer:
      layout.target = Place(AttributeDie(type, DW_AT_containing_type));
      break;
    case TypeForm::kArray:
      layout.target = Place(TypeOf(type));
      layout.count = ArrayCount(type).value_or(0);
      break;
    case TypeForm::kClass:
    case TypeForm::kUnion:
      FillClass(type, &layout);
      break;
    default:
      break;
  }
  types_[place] = std::move(layout);
}

void LayoutReader::FillClass(Dwarf_Die& type, TypeLayout* layout) {
  if (AttributeFlag(type, DW_AT_declaration)) {
    layout->form = TypeForm::kUnknown;  // no unit defines it
    return;
  }
  const bool is_closure = IsClosure(type);
  if (is_closure) layout->name = closures_.NameOf(type);
  AddArguments(type, layout);
  // A class of the library that no template makes leads to nothing of the program's, unless it is a part of one that
  // does: of a container's node, say. Its size tells libraries apart.
  if (IsOfLibrary(debug_.ScopeOf(type)) && !DieName(type).starts_with('_') &&
      DieName(type).find('<') == std::string::npos && debug_.ScopeOf(type).find('<') == std::string::npos)
    return;
  for (Dwarf_Die& child : Children(type)) {
    if (layout->members.size() == kMostMembers) break;
    const int tag = dwarf_tag(&child);
    if (tag == DW_TAG_member) AddMember(child, layout);
    if (tag == DW_TAG_inheritance) AddBase(child, layout);
  }
  // g++ calls what is captured `__name`, clang `name`.
  for (TypeMember& member : layout->members)
    if (is_closure && member.name.starts_with("__")) member.name.erase(0, 2);
  layout->slots = VtableSlots(type);
  AddDerived(type, layout);
}

void LayoutReader::AddMember(Dwarf_Die& member, TypeLayout* layout) {
  if (AttributeFlag(member, DW_AT_external)) return;  // static
  TypeMember described;
  described.name = DieName(member);
  if (described.name.starts_with("_vptr")) described.role = MemberRole::kVtable;
  described.offset = AttributeNumber(member, DW_AT_data_member_location).value_or(0);
  described.type = Place(TypeOf(member));
  if (const auto bits = AttributeNumber(member, DW_AT_bit_size)) {
    described.bit_size = static_cast<uint32_t>(std::min<uint64_t>(*bits, 64));
    const uint64_t from = AttributeNumber(member, DW_AT_data_bit_offset).value_or(0);
    described.offset += from / 8;
    described.bit_offset = static_cast<uint32_t>(from % 8);
  }
  layout->members.push_back(std::move(described));
}

void LayoutReader::AddBase(Dwarf_Die& base, TypeLayout* layout) {
  TypeMember described;
  const bool is_virtual = AttributeNumber(base, DW_AT_virtuality).value_or(0) != 0;
  described.role = is_virtual ? MemberRole::kVirtualBase : MemberRole::kBase;
  const auto type = TypeOf(base);
  // The class itself: compilers differ in whether they tell of the name by which a base was given.
  if (type) described.name = SpellType(debug_, ResolveType(debug_, *type));
  if (!is_virtual) described.offset = AttributeNumber(base, DW_AT_data_member_location).value_or(0);
  described.type = Place(type);
  layout->members.push_back(std::move(described));
}

// A container keeps its elements behind types that DWARF says nothing of: nodes, raw bytes.
void LayoutReader::AddArguments(Dwarf_Die& type, TypeLayout* layout) {
  if (!IsOfLibrary(debug_.ScopeOf(type))) return;
  std::vector<Dwarf_Die> arguments = ChildrenWithTag(type, DW_TAG_template_type_parameter);
  for (Dwarf_Die& pack : ChildrenWithTag(type, DW_TAG_GNU_template_parameter_pack))
    for (Dwarf_Die& argument : ChildrenWithTag(pack, DW_TAG_template_type_parameter)) arguments.push_back(argument);
  for (Dwarf_Die& argument : arguments)
    if (const uint32_t place = Place(TypeOf(argument))) layout->arguments.push_back(place);
  for (const std::string& name : NodeNames(DieName(type)))
    if (const auto node = debug_.TypeNamed(name)) layout->arguments.push_back(Place(node));
}

void LayoutReader::AddDerived(Dwarf_Die& type, TypeLayout* layout) {
  if (!HasVtablePointer(debug_, type)) return;
  if (!derived_) {
    derived_.emplace();
    for (const auto& [name, candidate] : debug_.Types()) {
      Dwarf_Die derived = candidate;
      for (Dwarf_Die& base : ChildrenWithTag(derived, DW_TAG_inheritance)) {
        auto base_type = TypeOf(base);
        if (!base_type) continue;
        Dwarf_Die resolved = StripType(*base_type);
        (*derived_)[debug_.ScopeOf(resolved) + DieName(resolved)].push_back(derived);
      }
    }
  }
  const auto found = derived_->find(debug_.ScopeOf(type) + DieName(type));
  if (found == derived_->end()) return;
  for (Dwarf_Die& derived : found->second) layout->derived.push_back(Place(derived));
  std::erase(layout->derived, 0u);
  std::ranges::sort(layout->derived);
}

namespace {

class VariableVisitor {
 public:
  VariableVisitor(DebugInfo& debug, const ElfFile& file, uint64_t base_vaddr, LayoutReader* reader)
      : debug_(debug), file_(file), base_vaddr_(base_vaddr), reader_(reader) {}

  void Visit(Dwarf_Die& parent, int depth) {
    Dwarf_Die child;
    if (depth > kMaxNesting || dwarf_child(&parent, &child) != 0) return;
    do {
      const int tag = dwarf_tag(&child);
      const bool is_scope = tag == DW_TAG_namespace || tag == DW_TAG_subprogram || tag == DW_TAG_lexical_block;
      if ((tag != DW_TAG_variable && !is_scope) || IsTool(child)) continue;
      if (is_scope)
        Visit(child, depth + 1);
      else
        Add(child);
    } while (dwarf_siblingof(&child, &child) == 0);
  }

  std::vector<Variable> Take() {
    std::ranges::sort(variables_, {}, &Variable::offset);
    const auto same = [](const Variable& a, const Variable& b) { return a.offset == b.offset; };
    variables_.erase(std::unique(variables_.begin(), variables_.end(), same), variables_.end());
    return std::move(variables_);
  }

 private:
  // Our own code in the program, or a namespace of it.
  bool IsTool(Dwarf_Die& die) { return IsToolVariable(debug_.ScopeOf(die) + DieName(die) + "::"); }

  void Add(Dwarf_Die& variable) {
    Dwarf_Attribute attribute, address_attribute;
    Dwarf_Op* expression = nullptr;
    size_t length = 0;
    Dwarf_Addr address = 0;
    if (dwarf_getlocation(dwarf_attr(&variable, DW_AT_location, &attribute), &expression, &length) != 0) return;
    if (length != 1 || (expression[0].atom != DW_OP_addr && expression[0].atom != DW_OP_addrx)) return;
    if (expression[0].atom == DW_OP_addr) {
      address = expression[0].number;
    } else if (dwarf_getlocation_attr(&attribute, expression, &address_attribute) != 0 ||
               dwarf_formaddr(&address_attribute, &address) != 0) {
      return;
    }
    const ElfLoad* load = file_.LoadAt(address);
    if (!load || !load->writable || address < base_vaddr_) return;
    const std::string scope = debug_.ScopeOf(variable);
    if (IsOfLibrary(scope) || DebugInfo::DeclaredAt(variable).file.starts_with("/usr/")) return;
    const uint32_t type = reader_->Add(AttributeDie(variable, DW_AT_type));
    if (type) variables_.push_back({scope + DieName(variable), address - base_vaddr_, type});
  }

  DebugInfo& debug_;
  const ElfFile& file_;
  const uint64_t base_vaddr_;
  LayoutReader* reader_;
  std::vector<Variable> variables_;
};

}  // namespace

std::vector<Variable> ReadVariables(DebugInfo& debug, const ElfFile& file, uint64_t base_vaddr, LayoutReader* reader) {
  VariableVisitor visitor(debug, file, base_vaddr, reader);
  debug.ForEachUnit([&](Dwarf_Die& unit) { visitor.Visit(unit, 0); });
  return visitor.Take();
}

std::vector<std::string> ReadInlined(DebugInfo& debug) {
  std::set<std::string> names;
  const std::function<void(Dwarf_Die&, int)> visit = [&](Dwarf_Die& parent, int depth) {
    Dwarf_Die child;
    if (depth > kMaxNesting || dwarf_child(&parent, &child) != 0) return;
    do {
      const int tag = dwarf_tag(&child);
      if (tag == DW_TAG_namespace || tag == DW_TAG_class_type || tag == DW_TAG_structure_type) visit(child, depth + 1);
      if (tag != DW_TAG_subprogram || !AttributeNumber(child, DW_AT_inline)) continue;
      if (DebugInfo::DeclaredAt(child).file.starts_with("/usr/")) continue;
      const std::string linkage_name = LinkageName(child);  // none in C, nor of static functions by g++
      names.insert(linkage_name.empty() ? DieName(child) : linkage_name);
    } while (dwarf_siblingof(&child, &child) == 0);
  };
  debug.ForEachUnit([&](Dwarf_Die& unit) { visit(unit, 0); });
  return {names.begin(), names.end()};
}

}  // namespace recrash
