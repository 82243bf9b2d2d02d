#include "testgen/symbols/dwarf/debug_info.h"

#include <dwarf.h>

#include <algorithm>
#include <filesystem>

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

std::string Normal(const std::string& path) { return std::filesystem::path(path).lexically_normal().string(); }

std::string InDirectory(Dwarf_Die& unit, const char* path) {
  if (path == nullptr) return "";
  if (path[0] == '/') return Normal(path);
  Dwarf_Attribute attribute;
  const char* directory = dwarf_formstring(dwarf_attr(&unit, DW_AT_comp_dir, &attribute));
  return Normal(directory == nullptr ? path : std::string(directory) + "/" + path);
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
  Dwarf_Attribute attribute;
  Dwarf_Word value;
  if (dwarf_attr_integrate(&die, code, &attribute) == nullptr || dwarf_formudata(&attribute, &value) != 0)
    return std::nullopt;
  return value;
}

std::optional<int64_t> AttributeSigned(Dwarf_Die& die, unsigned code) {
  Dwarf_Attribute attribute;
  Dwarf_Sword value;
  if (dwarf_attr_integrate(&die, code, &attribute) == nullptr || dwarf_formsdata(&attribute, &value) != 0)
    return std::nullopt;
  return value;
}

bool AttributeFlag(Dwarf_Die& die, unsigned code) {
  Dwarf_Attribute attribute;
  bool value = false;
  return dwarf_attr_integrate(&die, code, &attribute) != nullptr && dwarf_formflag(&attribute, &value) == 0 && value;
}

std::string DieName(Dwarf_Die& die) {
  Dwarf_Attribute attribute;
  const char* name = dwarf_formstring(dwarf_attr_integrate(&die, DW_AT_name, &attribute));
  return name == nullptr ? "" : name;
}

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
    Dwarf_Attribute attribute;
    Dwarf_Die origin;
    if (dwarf_attr(&die, DW_AT_abstract_origin, &attribute) == nullptr ||
        dwarf_formref_die(&attribute, &origin) == nullptr)
      break;
    die = origin;
  }
  return die;
}

std::string LinkageName(Dwarf_Die& die) {
  Dwarf_Attribute attribute;
  const char* name = dwarf_formstring(dwarf_attr_integrate(&die, DW_AT_linkage_name, &attribute));
  if (name == nullptr) name = dwarf_formstring(dwarf_attr_integrate(&die, DW_AT_MIPS_linkage_name, &attribute));
  return name == nullptr ? "" : name;
}

void DebugInfo::CollectScopes(Dwarf_Die& parent, size_t text, int depth, Scopes& into) {
  Dwarf_Die child;
  if (depth > kMaxNesting || dwarf_child(&parent, &child) != 0) return;
  do {
    const int tag = dwarf_tag(&child);
    const bool is_scope = IsScopeTag(tag);
    if (!is_scope && !IsTypeTag(tag) && tag != DW_TAG_subprogram && tag != DW_TAG_typedef) continue;
    if (text != 0) into.of.emplace(child.addr, text);
    if (!is_scope) continue;
    size_t inner = text;
    // Nobody writes std::__cxx11 or std::__1.
    if (tag != DW_TAG_namespace || !AttributeFlag(child, DW_AT_export_symbols)) {
      const std::string name = DieName(child);
      const char* anonymous = tag == DW_TAG_namespace ? "(anonymous namespace)" : "(anonymous class)";
      into.texts.push_back(into.texts[text] + (name.empty() ? anonymous : name) + "::");
      inner = into.texts.size() - 1;
    }
    CollectScopes(child, inner, depth + 1, into);
  } while (dwarf_siblingof(&child, &child) == 0);
}

const std::string& DebugInfo::ScopeOf(Dwarf_Die die) {
  // A definition outside its class refers to its declaration, which lies in the class.
  die = AbstractOrigin(die);
  Dwarf_Attribute attribute;
  Dwarf_Die declaration;
  if (dwarf_attr(&die, DW_AT_specification, &attribute) != nullptr &&
      dwarf_formref_die(&attribute, &declaration) != nullptr)
    die = declaration;
  static const std::string kNone;
  Dwarf_Die unit;
  if (dwarf_diecu(&die, &unit, nullptr, nullptr) == nullptr) return kNone;
  const auto [slot, is_new] = scopes_.try_emplace(unit.addr);
  Scopes& scopes = slot->second;
  if (is_new) {
    scopes.texts.emplace_back();
    CollectScopes(unit, 0, 0, scopes);
  }
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
  auto after = std::upper_bound(ranges.begin(), ranges.end(), address,
                                [](uint64_t value, const Range& range) { return value < range.low; });
  if (after == ranges.begin()) return nullptr;
  --after;
  return address < after->high ? &*after : nullptr;
}

void DebugInfo::IndexUnits() {
  if (units_indexed_) return;
  units_indexed_ = true;
  Dwarf_CU* unit = nullptr;
  Dwarf_Die die;
  while (dwarf_get_units(dwarf_, unit, &unit, nullptr, nullptr, &die, nullptr) == 0)
    if (dwarf_tag(&die) == DW_TAG_compile_unit) AddRanges(die, units_);
  std::sort(units_.begin(), units_.end(), [](const Range& a, const Range& b) { return a.low < b.low; });
}

void DebugInfo::CollectFunctions(Dwarf_Die& parent, int depth, Unit& into) {
  if (depth > kMaxNesting) return;
  Dwarf_Die child;
  if (dwarf_child(&parent, &child) != 0) return;
  do {
    const int tag = dwarf_tag(&child);
    if (tag == DW_TAG_subprogram) AddRanges(child, into.functions);
    if (IsScopeTag(tag)) CollectFunctions(child, depth + 1, into);
  } while (dwarf_siblingof(&child, &child) == 0);
}

DebugInfo::Unit& DebugInfo::FunctionsOf(Dwarf_Die& unit) {
  Unit& functions = functions_[dwarf_dieoffset(&unit)];
  if (!functions.read) {
    functions.read = true;
    CollectFunctions(unit, 0, functions);
    std::sort(functions.functions.begin(), functions.functions.end(),
              [](const Range& a, const Range& b) { return a.low < b.low; });
  }
  return functions;
}

std::optional<CodeScopes> DebugInfo::ScopesAt(uint64_t address) {
  if (dwarf_ == nullptr) return std::nullopt;
  IndexUnits();
  const Range* unit = Lookup(units_, address);
  CodeScopes scopes;
  if (unit == nullptr || dwarf_offdie(dwarf_, unit->offset, &scopes.unit) == nullptr) return std::nullopt;
  const Range* function = Lookup(FunctionsOf(scopes.unit).functions, address);
  if (function == nullptr || dwarf_offdie(dwarf_, function->offset, &scopes.function) == nullptr) return std::nullopt;
  Dwarf_Addr entry = 0;
  scopes.entry = dwarf_entrypc(&scopes.function, &entry) == 0 ? entry : function->low;

  Dwarf_Die scope = scopes.function;
  for (int depth = 0; depth < kMaxNesting * 4; ++depth) {
    Dwarf_Die child;
    if (dwarf_child(&scope, &child) != 0) break;
    bool found = false;
    do {
      const int tag = dwarf_tag(&child);
      found = (tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block) && dwarf_haspc(&child, address) > 0;
    } while (!found && dwarf_siblingof(&child, &child) == 0);
    if (!found) break;
    if (dwarf_tag(&child) == DW_TAG_inlined_subroutine) scopes.inlined.push_back(child);
    scope = child;
  }
  return scopes;
}

std::optional<SourceLine> DebugInfo::LineAt(uint64_t address) {
  if (dwarf_ == nullptr) return std::nullopt;
  IndexUnits();
  const Range* range = Lookup(units_, address);
  Dwarf_Die unit;
  if (range == nullptr || dwarf_offdie(dwarf_, range->offset, &unit) == nullptr) return std::nullopt;
  return LineAt(unit, address);
}

std::optional<SourceLine> DebugInfo::LineAt(Dwarf_Die& unit, uint64_t address) {
  Dwarf_Lines* lines = nullptr;
  size_t count = 0;
  if (dwarf_getsrclines(&unit, &lines, &count) != 0) return std::nullopt;
  // libdw sorts the rows by address.
  size_t low = 0;
  for (size_t high = count; low < high;) {
    const size_t middle = (low + high) / 2;
    Dwarf_Addr at = 0;
    dwarf_lineaddr(dwarf_onesrcline(lines, middle), &at);
    if (at <= address)
      low = middle + 1;
    else
      high = middle;
  }
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
  Dwarf_Die unit;
  int line = 0;
  if (dwarf_decl_line(&die, &line) == 0 && line > 0) where.line = static_cast<uint32_t>(line);
  if (dwarf_diecu(&die, &unit, nullptr, nullptr) != nullptr) where.file = InDirectory(unit, dwarf_decl_file(&die));
  return where;
}

SourceLine DebugInfo::CalledAt(Dwarf_Die& inlined, Dwarf_Die& unit) {
  SourceLine where;
  Dwarf_Attribute attribute;
  Dwarf_Word file = 0, line = 0;
  Dwarf_Files* files = nullptr;
  size_t count = 0;
  if (dwarf_formudata(dwarf_attr(&inlined, DW_AT_call_line, &attribute), &line) == 0)
    where.line = static_cast<uint32_t>(line);
  if (dwarf_formudata(dwarf_attr(&inlined, DW_AT_call_file, &attribute), &file) == 0 &&
      dwarf_getsrcfiles(&unit, &files, &count) == 0 && file < count)
    where.file = InDirectory(unit, dwarf_filesrc(files, file, nullptr, nullptr));
  return where;
}

void DebugInfo::CollectTypes(Dwarf_Die& parent, const std::string& scope, int depth) {
  if (depth > kMaxNesting) return;
  Dwarf_Die child;
  if (dwarf_child(&parent, &child) != 0) return;
  do {
    const int tag = dwarf_tag(&child);
    if (!IsScopeTag(tag) && !IsTypeTag(tag)) continue;
    const std::string name = DieName(child);
    if (name.empty() && tag != DW_TAG_namespace) continue;
    Dwarf_Attribute attribute;
    if (IsTypeTag(tag) && dwarf_attr(&child, DW_AT_declaration, &attribute) == nullptr)
      types_.emplace(scope + name, child);
    if (!IsScopeTag(tag)) continue;
    const bool is_inline = tag == DW_TAG_namespace && AttributeFlag(child, DW_AT_export_symbols);
    const std::string shown = name.empty() ? "(anonymous namespace)" : name;
    CollectTypes(child, is_inline ? scope : scope + shown + "::", depth + 1);
  } while (dwarf_siblingof(&child, &child) == 0);
}

std::optional<Dwarf_Die> DebugInfo::TypeNamed(const std::string& qualified_name) {
  if (dwarf_ == nullptr) return std::nullopt;
  if (!types_indexed_) {
    types_indexed_ = true;
    Dwarf_CU* unit = nullptr;
    Dwarf_Die die;
    while (dwarf_get_units(dwarf_, unit, &unit, nullptr, nullptr, &die, nullptr) == 0) CollectTypes(die, "", 0);
  }
  const auto found = types_.find(qualified_name);
  return found == types_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<Dwarf_Die> DebugInfo::DefinitionOf(Dwarf_Die& declaration) {
  return TypeNamed(ScopeOf(declaration) + DieName(declaration));
}

DebugInfo* DebugInfos::Of(const LoadedModule& module) {
  if (module.dwarf == nullptr) return nullptr;
  std::unique_ptr<DebugInfo>& known = known_[&module];
  if (known == nullptr) known = std::make_unique<DebugInfo>(*module.dwarf);
  return known.get();
}

}  // namespace recrash
