#include "testgen/symbols/text/standard_classes.h"

#include <dwarf.h>

#include "agent/base/printable_text.h"
#include "testgen/symbols/dwarf/expression.h"
#include "testgen/symbols/dwarf/members.h"
#include "testgen/symbols/dwarf/names.h"
#include "testgen/symbols/dwarf/types.h"
#include "testgen/symbols/text/standard_class.h"

namespace recrash {
namespace {

// The first row whose name fits is taken.
constexpr StandardRow kRows[] = {
    // libstdc++, since GCC 5
    {"basic_string<char,", ShowText, {"_M_p", 0}, {"_M_string_length", 8}, {"_M_allocated_capacity", 16}},
    {"basic_string_view<char,", ShowText, {"_M_str", 8}, {"_M_len", 0}},
    {"vector<bool", ShowBits, {"_M_start", 0}, {"_M_finish", 16}},
    {"vector<", ShowVector, {"_M_start", 0}, {"_M_finish", 8}, {"_M_end_of_storage", 16}},
    {"span<", ShowCounted, {"_M_ptr", 0}, {"_M_extent_value", 8}},
    {"initializer_list<", ShowCounted, {"_M_array", 0}, {"_M_len", 8}},
    {"array<", ShowInner, {"_M_elems"}},
    {"list<", ShowList, {"_M_next", 0}, {"_M_size", 16}, {"", 0}},
    {"forward_list<", ShowForwardList, {"_M_next", 0}},
    {"map<", ShowTree, {"_M_header", 8}, {"_M_node_count", 40}},
    {"multimap<", ShowTree, {"_M_header", 8}, {"_M_node_count", 40}},
    {"set<", ShowTree, {"_M_header", 8}, {"_M_node_count", 40}},
    {"multiset<", ShowTree, {"_M_header", 8}, {"_M_node_count", 40}},
    {"unordered_", ShowHash, {"_M_before_begin", 16}, {"_M_element_count", 24}},
    {"deque<", ShowDeque, {"_M_start", 16}, {"_M_finish", 48}},
    {"queue<", ShowInner, {"c"}},
    {"stack<", ShowInner, {"c"}},
    {"priority_queue<", ShowInner, {"c"}},
    {"unique_ptr<", ShowUnique},
    {"shared_ptr<", ShowShared, {"_M_ptr", 0}, {"_M_pi", 8}},
    {"weak_ptr<", ShowShared, {"_M_ptr", 0}, {"_M_pi", 8}},
    {"reference_wrapper<", ShowReference, {"_M_data", 0}},
    {"tuple<", ShowTuple, {"_M_head_impl"}},
    {"optional<", ShowOptional, {"_M_engaged"}},
    {"variant<", ShowVariant, {"_M_index"}},
    {"any", ShowAny, {"_M_manager", 0}, {"_M_storage", 8}},
    {"function<", ShowFunction, {"_M_manager", 16}, {"_M_functor", 0}},
    {"duration<", ShowDuration, {"__r"}},
    {"time_point<", ShowTimePoint, {"__d"}},
    {"path", ShowInner, {"_M_pathname"}},
    {"atomic<", ShowAtomic},
    {"bitset<", ShowBitset},
    {"mutex", ShowInner, {"_M_mutex"}},
    {"recursive_mutex", ShowInner, {"_M_mutex"}},
    {"timed_mutex", ShowInner, {"_M_mutex"}},
    // libc++, ABI version 1
    {"basic_string<char,", ShowLibcxxText, {}, {}, {}, true},
    {"basic_string_view<char,", ShowText, {"__data_", 0}, {"__size_", 8}, {}, true},
    {"vector<bool", ShowBits, {"__begin_", 0}, {"__size_", 8}, {}, true},
    {"vector<", ShowVector, {"__begin_", 0}, {"__end_", 8}, {"", 16}, true},
    {"span<", ShowCounted, {"__data_", 0}, {"__size_", 8}, {}, true},
    {"initializer_list<", ShowCounted, {"__begin_", 0}, {"__size_", 8}, {}, true},
    {"array<", ShowInner, {"__elems_"}, {}, {}, true},
    {"list<", ShowList, {"__next_", 8}, {"", 16}, {"", 8}, true},
    {"forward_list<", ShowForwardList, {"", 0}, {}, {}, true},
    {"map<", ShowTree, {"", 8}, {"", 16}, {}, true},
    {"multimap<", ShowTree, {"", 8}, {"", 16}, {}, true},
    {"set<", ShowTree, {"", 8}, {"", 16}, {}, true},
    {"multiset<", ShowTree, {"", 8}, {"", 16}, {}, true},
    {"unordered_", ShowHash, {"", 16}, {"", 24}, {}, true},
    {"deque<", ShowDeque, {"__start_", 32}, {"", 40}, {}, true},
    {"queue<", ShowInner, {"c"}, {}, {}, true},
    {"stack<", ShowInner, {"c"}, {}, {}, true},
    {"priority_queue<", ShowInner, {"c"}, {}, {}, true},
    {"unique_ptr<", ShowUnique, {}, {}, {}, true},
    {"shared_ptr<", ShowShared, {"__ptr_", 0}, {"__cntrl_", 8}, {}, true},
    {"weak_ptr<", ShowShared, {"__ptr_", 0}, {"__cntrl_", 8}, {}, true},
    {"reference_wrapper<", ShowReference, {"__f_", 0}, {}, {}, true},
    {"tuple<", ShowTuple, {"__value_"}, {}, {}, true},
    {"optional<", ShowOptional, {"__engaged_"}, {}, {}, true},
    {"variant<", ShowVariant, {"__index"}, {}, {}, true},
    {"any", ShowAny, {"", 0}, {"", 8}, {}, true},
    {"function<", ShowFunction, {"", 32}, {"", 0}, {}, true},
    {"duration<", ShowDuration, {"__rep_"}, {}, {}, true},
    {"time_point<", ShowTimePoint, {"__d_"}, {}, {}, true},
    {"path", ShowInner, {"__pn_"}, {}, {}, true},
    {"atomic<", ShowAtomic, {}, {}, {}, true},
    {"bitset<", ShowBitset, {}, {}, {}, true},
    {"mutex", ShowInner, {"__m_"}, {}, {}, true},
    {"recursive_mutex", ShowInner, {"__m_"}, {}, {}, true},
};

// A name of the table that is no template has to be the whole name.
bool Fits(std::string_view row, std::string_view name) {
  return name.starts_with(row) && (name.size() == row.size() || row.find('<') != row.npos || row.ends_with('_'));
}

}  // namespace

std::string StandardObject::name() const {
  Dwarf_Die type = object.type;
  return DieName(type);
}

std::optional<Dwarf_Die> StandardObject::Argument(size_t number) const { return TemplateArgument(object.type, number); }

std::optional<uint64_t> StandardObject::Offset(StandardMember member) const {
  if (member.name.empty()) return member.usual_offset;
  return MemberOffset(debug(), object.type, member.name).value_or(member.usual_offset);
}

std::optional<uint64_t> StandardObject::Word(StandardMember member) const {
  const auto offset = Offset(member);
  if (!offset || *offset > object.bytes.size() || object.bytes.size() - *offset < 8) return std::nullopt;
  return ToUnsigned(object.bytes.subspan(*offset, 8));
}

std::optional<Shown> StandardObject::Member(std::string_view member) const {
  auto found = FindMember(debug(), object.type, member);
  const auto type = found ? TypeOf(found->member) : std::nullopt;
  const uint64_t size = type ? TypeSize(debug(), *type) : 0;
  if (size == 0 || found->offset > object.bytes.size() || size > object.bytes.size() - found->offset)
    return std::nullopt;
  const TargetAddress address = object.address.value == 0 ? TargetAddress{} : object.address + found->offset;
  return builder_.Value({*type, object.bytes.subspan(found->offset, size), address}, reached);
}

std::optional<Shown> StandardObject::First(std::optional<Dwarf_Die> type) const {
  const uint64_t size = type ? TypeSize(debug(), *type) : 0;
  if (size == 0 || size > object.bytes.size()) return std::nullopt;
  return builder_.Value({*type, object.bytes.first(size), object.address}, reached);
}

std::string StandardObject::Head(const std::string& text) const {
  const std::string head = builder_.Head(object.type, reached);
  return head + (head.empty() || text.empty() ? "" : " ") + text;
}

Shown StandardObject::NotPlausible(const std::string& why) const {
  return {Head("not plausible: " + why), false, {}, false};
}

Shown StandardObject::Elements(uint64_t count, const Walk& walk, uint64_t offset, Dwarf_Die element,
                               std::optional<Dwarf_Die> mapped) const {
  const uint64_t size = TypeSize(debug(), element);
  uint64_t second = 0;
  if (mapped) {
    const uint64_t alignment = AlignmentOf(debug(), *mapped);
    second = (size + alignment - 1) / alignment * alignment;
  }
  std::string head = "of " + std::to_string(count);
  if (!walk.remark.empty()) head += ", but " + walk.remark;
  if (walk.nodes.empty()) return {Head(head), false, {}, false};
  ValueBuilder::Group group = builder_.Open(Head(head), reached);
  if (!group.is_open) return std::move(group.shown);
  for (const TargetAddress node : walk.nodes) {
    Shown value = builder_.At(element, node + offset, Reached{reached.level + 1, reached.pointers + 1});
    std::string label;
    if (mapped) {
      label = OneLine(value, 40) + ": ";
      value = builder_.At(*mapped, node + (offset + second), Reached{reached.level + 1, reached.pointers + 1});
    }
    group.shown.members.push_back({label, std::move(value)});
  }
  group.shown.is_cut = walk.is_cut;
  return std::move(group.shown);
}

std::string StandardObject::SymbolAt(uint64_t address) const {
  LoadedModule* module = builder_.view().modules.Find({address});
  if (module == nullptr) return "";
  const uint64_t in_file = address - module->bias();
  const auto range = module->names->FunctionAt(in_file);
  if (range && !range->names.empty() && range->start == in_file) return ReadableName(std::string(range->names.front()));
  const ElfSymbol* symbol = module->names->ObjectAt(in_file);
  return symbol == nullptr ? "" : ReadableName(std::string(symbol->name));
}

std::vector<std::string> ArgumentsAfter(std::string_view text, std::string_view before) {
  const size_t begin = text.find(std::string(before) + "<");
  if (begin == text.npos) return {};
  std::vector<std::string> arguments(1);
  int depth = 0;
  for (size_t i = begin + before.size() + 1; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '<' || c == '(' || c == '{' || c == '[') ++depth;
    if (c == '>' && text[i - 1] == '-') continue;
    if ((c == '>' || c == ')' || c == '}' || c == ']') && depth-- == 0) return arguments;
    if (c == ',' && depth == 0) {
      arguments.emplace_back();
    } else if (c != ' ' || !arguments.back().empty()) {
      arguments.back() += c;
    }
  }
  return {};
}

std::optional<Shown> StandardClass(ValueBuilder& builder, const Object& object, Reached reached) {
  Dwarf_Die type = object.type;
  if (!builder.view().debug.ScopeOf(type).starts_with("std::") || AttributeFlag(type, DW_AT_declaration))
    return std::nullopt;
  const bool is_libcxx = IsOfLibcxx(type);
  const std::string name = DieName(type);
  for (const StandardRow& row : kRows) {
    if (row.is_libcxx != is_libcxx || !Fits(row.name, name)) continue;
    return row.show(StandardObject(builder, object, row, reached));
  }
  return std::nullopt;
}

}  // namespace recrash
