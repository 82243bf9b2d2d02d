#include "testgen/symbols/dwarf/debug_info.h"

#include <dwarf.h>

#include <algorithm>
#include <filesystem>
#include <ranges>

namespace recrash {
namespace {

constexpr int kMaxNesting = 64;

bool IsTypeTag(int tag) {
  return tag == DW_TAG_class_type || tag == DW_TAG_structure_type || tag == DW_TAG_union_type ||
         tag == DW_TAG_enumeration_type;
}

// Things that hold functions and types by name.
bool IsScopeTag(int tag) {
  return tag == DW_TAG_namespace || tag == DW_TAG_class_type || tag == DW_TAG_structure_type ||
         tag == DW_TAG_union_type || tag == DW_TAG_module;
}

// Reads an attribute by one of libdw's functions. It may stand at the DIE's origin or specification.
template <typename T>
std::optional<T> Attribute(Dwarf_Die& die, unsigned code, int (*read)(Dwarf_Attribute*, T*)) {
  Dwarf_Attribute attribute;
  T value{};
  if (dwarf_attr_integrate(&die, code, &attribute) == nullptr || read(&attribute, &value) != 0) return std::nullopt;
  return value;
}

std::string_view AttributeText(Dwarf_Die& die, unsigned code) {
  Dwarf_Attribute attribute;
  const char* text = dwarf_formstring(dwarf_attr_integrate(&die, code, &attribute));
  return text == nullptr ? "" : text;
}

std::string InDirectory(Dwarf_Die& unit, const char* path) {
  if (path == nullptr) return "";
  const std::string directory(path[0] == '/' ? "" : AttributeText(unit, DW_AT_comp_dir));
  return std::filesystem::path(directory.empty() ? path : directory + "/" + path).lexically_normal().string();
}

// Calls visit(die, tag, scope) for all that stands in namespaces and classes below `parent`; the scope is the text
// "ns::Outer::". Inline namespaces are left out of it: nobody writes std::__cxx11 or std::__1.
template <typename Visit>
void VisitScopes(Dwarf_Die& parent, const std::string& scope, int depth, const Visit& visit) {
  Dwarf_Die child;
  if (depth > kMaxNesting || dwarf_child(&parent, &child) != 0) return;
  do {
    const int tag = dwarf_tag(&child);
    visit(child, tag, scope);
    if (!IsScopeTag(tag)) continue;
    std::string_view name = AttributeText(child, DW_AT_name);
    // Inline namespaces are left out. gcc says of anonymous ones, too, that they export their names.
    if (tag == DW_TAG_namespace && !name.empty() && AttributeFlag(child, DW_AT_export_symbols)) {
      VisitScopes(child, scope, depth + 1, visit);
      continue;
    }
    if (name.empty()) name = tag == DW_TAG_namespace ? "(anonymous namespace)" : "(anonymous class)";
    VisitScopes(child, (scope + std::string(name)).append("::"), depth + 1, visit);
  } while (dwarf_siblingof(&child, &child) == 0);
}

}  // namespace

std::optional<Dwarf_Die> AttributeDie(Dwarf_Die& die, unsigned code) {
  Dwarf_Attribute attribute;
  Dwarf_Die result;
  if (dwarf_attr_integrate(&die, code, &attribute) == nullptr || dwarf_formref_die(&attribute, &result) == nullptr)
    return std::nullopt;
  return result;
}

std::optional<uint64_t> AttributeNumber(Dwarf_Die& die, unsigned code) {
  return Attribute<Dwarf_Word>(die, code, dwarf_formudata);
}

std::optional<int64_t> AttributeSigned(Dwarf_Die& die, unsigned code) {
  return Attribute<Dwarf_Sword>(die, code, dwarf_formsdata);
}

bool AttributeFlag(Dwarf_Die& die, unsigned code) { return Attribute<bool>(die, code, dwarf_formflag).value_or(false); }

std::optional<Dwarf_Die> OwnAttributeDie(Dwarf_Die& die, unsigned code) {
  Dwarf_Attribute attribute;
  Dwarf_Die result;
  if (dwarf_attr(&die, code, &attribute) == nullptr || dwarf_formref_die(&attribute, &result) == nullptr)
    return std::nullopt;
  return result;
}

std::string DieName(Dwarf_Die& die) { return std::string(AttributeText(die, DW_AT_name)); }

std::vector<Dwarf_Die> Children(Dwarf_Die& die) {
  std::vector<Dwarf_Die> children;
  Dwarf_Die child;
  if (dwarf_child(&die, &child) != 0) return children;
  do children.push_back(child);
  while (dwarf_siblingof(&child, &child) == 0);
  return children;
}

std::vector<Dwarf_Die> ChildrenWithTag(Dwarf_Die& die, int tag) {
  std::vector<Dwarf_Die> children = Children(die);
  std::erase_if(children, [tag](Dwarf_Die& child) { return dwarf_tag(&child) != tag; });
  return children;
}

Dwarf_Die AbstractOrigin(Dwarf_Die die) {
  for (int i = 0; i < 8; ++i) {
    const auto origin = OwnAttributeDie(die, DW_AT_abstract_origin);
    if (!origin) break;
    die = *origin;
  }
  return die;
}

std::string LinkageName(Dwarf_Die& die) {
  const std::string_view name = AttributeText(die, DW_AT_linkage_name);
  return std::string(name.empty() ? AttributeText(die, DW_AT_MIPS_linkage_name) : name);
}

const std::string& DebugInfo::ScopeOf(Dwarf_Die die) {
  // A definition outside its class refers to its declaration, which lies in the class.
  die = AbstractOrigin(die);
  if (const auto declaration = OwnAttributeDie(die, DW_AT_specification)) die = *declaration;
  static const std::string kNone;
  Dwarf_Die unit;
  if (dwarf_diecu(&die, &unit, nullptr, nullptr) == nullptr) return kNone;
  const auto [slot, is_new] = scopes_.try_emplace(unit.addr);
  Scopes& scopes = slot->second;
  if (is_new)
    VisitScopes(unit, "", 0, [&scopes](Dwarf_Die& child, int tag, const std::string& scope) {
      if (scope.empty() || (!IsScopeTag(tag) && !IsTypeTag(tag) && tag != DW_TAG_subprogram && tag != DW_TAG_typedef))
        return;
      if (scopes.texts.empty() || scopes.texts.back() != scope) scopes.texts.push_back(scope);
      scopes.of.emplace(child.addr, scopes.texts.size() - 1);
    });
  const auto found = scopes.of.find(die.addr);
  return found == scopes.of.end() ? kNone : scopes.texts[found->second];
}

void DebugInfo::AddRanges(Dwarf_Die& die, std::vector<Range>& into) {
  Dwarf_Addr base = 0, low = 0, high = 0;
  for (ptrdiff_t offset = 0; (offset = dwarf_ranges(&die, offset, &base, &low, &high)) > 0;)
    // A function that the linker dropped keeps its length, at address 0, -1 or -2.
    if (low != 0 && low < high) into.push_back({low, high, dwarf_dieoffset(&die)});
}

const DebugInfo::Range* DebugInfo::Lookup(const std::vector<Range>& ranges, uint64_t address) {
  const auto after = std::ranges::upper_bound(ranges, address, {}, &Range::low);
  return after != ranges.begin() && address < std::prev(after)->high ? &*std::prev(after) : nullptr;
}

std::optional<Dwarf_Die> DebugInfo::UnitAt(uint64_t address) {
  if (!units_indexed_) {
    units_indexed_ = true;
    Dwarf_CU* unit = nullptr;
    Dwarf_Die die;
    while (dwarf_get_units(dwarf_, unit, &unit, nullptr, nullptr, &die, nullptr) == 0)
      if (dwarf_tag(&die) == DW_TAG_compile_unit) AddRanges(die, units_);
    std::ranges::sort(units_, {}, &Range::low);
  }
  const Range* range = Lookup(units_, address);
  Dwarf_Die unit;
  if (range == nullptr || dwarf_offdie(dwarf_, range->offset, &unit) == nullptr) return std::nullopt;
  return unit;
}

void DebugInfo::CollectFunctions(Dwarf_Die& parent, int depth, std::vector<Range>& into) {
  Dwarf_Die child;
  if (depth > kMaxNesting || dwarf_child(&parent, &child) != 0) return;
  do {
    const int tag = dwarf_tag(&child);
    if (tag == DW_TAG_subprogram) AddRanges(child, into);
    if (IsScopeTag(tag)) CollectFunctions(child, depth + 1, into);
  } while (dwarf_siblingof(&child, &child) == 0);
}

const std::vector<DebugInfo::Range>& DebugInfo::FunctionsOf(Dwarf_Die& unit) {
  const auto [slot, is_new] = functions_.try_emplace(dwarf_dieoffset(&unit));
  if (is_new) {
    CollectFunctions(unit, 0, slot->second);
    std::ranges::sort(slot->second, {}, &Range::low);
  }
  return slot->second;
}

namespace {

// Of a function in several pieces g++ does not say where it is entered: the piece with the entry comes first, then the
// cold one.
std::optional<uint64_t> FirstRange(Dwarf_Die& function) {
  Dwarf_Addr base = 0, low = 0, high = 0;
  return dwarf_ranges(&function, 0, &base, &low, &high) > 0 ? std::optional<uint64_t>(low) : std::nullopt;
}

}  // namespace

std::optional<CodeScopes> DebugInfo::ScopesAt(uint64_t address) {
  CodeScopes scopes;
  const auto unit = UnitAt(address);
  if (!unit) return std::nullopt;
  scopes.unit = *unit;
  const Range* function = Lookup(FunctionsOf(scopes.unit), address);
  if (function == nullptr || dwarf_offdie(dwarf_, function->offset, &scopes.function) == nullptr) return std::nullopt;
  Dwarf_Addr entry = 0;
  scopes.entry =
      dwarf_entrypc(&scopes.function, &entry) == 0 ? entry : FirstRange(scopes.function).value_or(function->low);

  Dwarf_Die scope = scopes.function;
  for (int depth = 0; depth < kMaxNesting * 4; ++depth) {
    std::vector<Dwarf_Die> children = Children(scope);
    const auto inner = std::ranges::find_if(children, [address](Dwarf_Die& child) {
      const int tag = dwarf_tag(&child);
      return (tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block) && dwarf_haspc(&child, address) > 0;
    });
    if (inner == children.end()) break;
    if (dwarf_tag(&*inner) == DW_TAG_inlined_subroutine) scopes.inlined.push_back(*inner);
    scope = *inner;
  }
  return scopes;
}

std::optional<SourceLine> DebugInfo::LineAt(uint64_t address) {
  auto unit = UnitAt(address);
  return unit ? LineAt(*unit, address) : std::nullopt;
}

std::optional<SourceLine> DebugInfo::LineAt(Dwarf_Die& unit, uint64_t address) {
  Dwarf_Lines* lines = nullptr;
  size_t count = 0;
  if (dwarf_getsrclines(&unit, &lines, &count) != 0) return std::nullopt;
  // libdw sorts the rows by address.
  const auto rows = std::views::iota(size_t{0}, count);
  const auto after = std::ranges::partition_point(rows, [&](size_t row) {
    Dwarf_Addr at = 0;
    dwarf_lineaddr(dwarf_onesrcline(lines, row), &at);
    return at <= address;
  });
  const auto low = static_cast<size_t>(after - rows.begin());
  for (size_t i = low; i-- > 0 && low - i < 64;) {
    Dwarf_Line* row = dwarf_onesrcline(lines, i);
    bool ends = false;
    int line = 0;
    dwarf_lineendsequence(row, &ends);
    if (ends || dwarf_lineno(row, &line) != 0) return std::nullopt;
    if (line > 0)
      return SourceLine{InDirectory(unit, dwarf_linesrc(row, nullptr, nullptr)), static_cast<uint32_t>(line)};
  }
  return std::nullopt;
}

SourceLine DebugInfo::DeclaredAt(Dwarf_Die& die) {
  SourceLine where;
  Dwarf_Attribute attribute;
  Dwarf_Word file = 0;
  Dwarf_Die unit;
  Dwarf_Half version = 0;
  int line = 0;
  if (dwarf_decl_line(&die, &line) == 0 && line > 0) where.line = static_cast<uint32_t>(line);
  // dwarf_decl_file does not know that DWARF 5 has a file 0. The attribute may be another unit's.
  if (dwarf_formudata(dwarf_attr_integrate(&die, DW_AT_decl_file, &attribute), &file) == 0 &&
      dwarf_cu_die(attribute.cu, &unit, &version, nullptr, nullptr, nullptr, nullptr, nullptr) != nullptr &&
      (file > 0 || version >= 5))
    where.file = SourceName(unit, file);
  return where;
}

SourceLine DebugInfo::CalledAt(Dwarf_Die& inlined, Dwarf_Die& unit) {
  SourceLine where;
  Dwarf_Attribute attribute;
  Dwarf_Word file = 0, line = 0;
  if (dwarf_formudata(dwarf_attr(&inlined, DW_AT_call_line, &attribute), &line) == 0)
    where.line = static_cast<uint32_t>(line);
  if (dwarf_formudata(dwarf_attr(&inlined, DW_AT_call_file, &attribute), &file) == 0)
    where.file = SourceName(unit, file);
  return where;
}

std::string DebugInfo::SourceName(Dwarf_Die& unit, size_t number) {
  Dwarf_Files* files = nullptr;
  size_t count = 0;
  if (dwarf_getsrcfiles(&unit, &files, &count) != 0 || number >= count) return "";
  return InDirectory(unit, dwarf_filesrc(files, number, nullptr, nullptr));
}

void DebugInfo::ForEachUnit(const std::function<void(Dwarf_Die& unit)>& visit) {
  Dwarf_CU* unit = nullptr;
  Dwarf_Die die;
  while (dwarf_get_units(dwarf_, unit, &unit, nullptr, nullptr, &die, nullptr) == 0) visit(die);
}

const std::unordered_map<std::string, Dwarf_Die>& DebugInfo::Types() {
  if (types_indexed_) return types_;
  types_indexed_ = true;
  const auto add = [this](Dwarf_Die& type, int tag, const std::string& scope) {
    Dwarf_Attribute attribute;
    if (!IsTypeTag(tag) || dwarf_attr(&type, DW_AT_declaration, &attribute) != nullptr) return;
    const std::string_view name = AttributeText(type, DW_AT_name);
    if (!name.empty()) types_.emplace(scope + std::string(name), type);
  };
  ForEachUnit([&](Dwarf_Die& unit) { VisitScopes(unit, "", 0, add); });
  return types_;
}

std::optional<uint64_t> DebugInfo::EntryOf(Dwarf_Die& inlined) {
  Dwarf_Attribute attribute;
  Dwarf_Addr entry = 0;
  if (dwarf_formaddr(dwarf_attr(&inlined, DW_AT_entry_pc, &attribute), &entry) == 0) return entry;
  std::vector<Range> ranges;
  AddRanges(inlined, ranges);
  if (ranges.empty()) return std::nullopt;
  return std::ranges::min(ranges, {}, &Range::low).low;
}

std::vector<uint64_t> DebugInfo::OtherEntriesOf(Dwarf_Die& inlined) {
  constexpr size_t kMost = 16;
  const auto entry = EntryOf(inlined);
  std::vector<Range> ranges;
  AddRanges(inlined, ranges);
  std::ranges::sort(ranges, {}, &Range::low);
  std::vector<uint64_t> others;
  for (const Range& range : ranges)
    if (range.low != entry && others.size() < kMost) others.push_back(range.low);
  return others;
}

std::vector<uint64_t> DebugInfo::RowsIn(uint64_t low, uint64_t high) {
  std::vector<uint64_t> addresses;
  auto unit = UnitAt(low);
  Dwarf_Lines* lines = nullptr;
  size_t count = 0;
  if (!unit || dwarf_getsrclines(&*unit, &lines, &count) != 0) return addresses;
  for (size_t i = 0; i < count; ++i) {
    Dwarf_Addr at = 0;
    dwarf_lineaddr(dwarf_onesrcline(lines, i), &at);
    if (at >= low && at < high && (addresses.empty() || addresses.back() != at)) addresses.push_back(at);
  }
  return addresses;
}

std::optional<Dwarf_Die> DebugInfo::TypeNamed(const std::string& qualified_name) {
  const auto found = Types().find(qualified_name);
  return found == Types().end() ? std::nullopt : std::optional(found->second);
}

std::optional<Dwarf_Die> DebugInfo::DefinitionOf(Dwarf_Die& declaration) {
  return TypeNamed(ScopeOf(declaration) + DieName(declaration));
}

}  // namespace recrash
