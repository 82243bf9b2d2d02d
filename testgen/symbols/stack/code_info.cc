#include "testgen/symbols/stack/code_info.h"

#include <dwarf.h>

#include <algorithm>

#include "testgen/symbols/dwarf/names.h"
#include "testgen/symbols/dwarf/types.h"
#include "testgen/symbols/stack/call_site.h"

namespace recrash {
namespace {

constexpr size_t kMaxParameters = 255;

std::string FunctionName(DebugInfo& debug, Dwarf_Die& die, const std::string& linkage_name) {
  if (linkage_name.starts_with("_Z")) return ReadableName(linkage_name);
  const std::string name = DieName(die);
  return name.empty() ? linkage_name : SimplifyName(debug.ScopeOf(die) + name);
}

// If two files have a static function of one name, link-time optimisation adds ".17" to the name. The record has the
// hash of the name before that, so the hash without the suffix is added too.
void AddHashes(std::string_view name, std::vector<uint64_t>& hashes) {
  hashes.push_back(abi::HashLinkageName(name.data(), name.size()));
  const size_t end = name.find_last_not_of("0123456789");
  if (end != std::string_view::npos && end > 0 && end + 1 < name.size() && name[end] == '.')
    hashes.push_back(abi::HashLinkageName(name.data(), end));
}

}  // namespace

namespace {

// gcc describes a destructor with a number that says which one it is. None of those that exist takes it.
bool IsNeverPassed(Dwarf_Die& parameter) {
  if (!AttributeFlag(parameter, DW_AT_artificial)) return false;
  const std::string name = DieName(parameter);
  const auto type = TypeOf(parameter);
  return name == "__in_chrg" || (name.empty() && type && KindOf(*type) == TypeKind::kSigned);
}

}  // namespace

std::vector<ParameterInfo> ParametersOf(DebugInfo& debug, Dwarf_Die function) {
  Dwarf_Die abstract = AbstractOrigin(function);
  Dwarf_Die declaration = OwnAttributeDie(abstract, DW_AT_specification).value_or(abstract);
  const std::vector<Dwarf_Die> concrete = ChildrenWithTag(function, DW_TAG_formal_parameter);
  std::vector<Dwarf_Die> all = ChildrenWithTag(abstract, DW_TAG_formal_parameter);
  const std::vector<Dwarf_Die> declared = ChildrenWithTag(declaration, DW_TAG_formal_parameter);
  // The abstract instance may lack parameters that no inlined copy uses. The declaration in the class has them all, but
  // without names.
  if (declared.size() > all.size()) all = declared;

  std::vector<ParameterInfo> parameters;
  for (Dwarf_Die& source : all) {
    if (parameters.size() >= kMaxParameters) break;
    if (IsNeverPassed(source)) continue;
    ParameterInfo info;
    info.die = source;
    const size_t position = parameters.size();
    for (size_t i = 0; i < concrete.size(); ++i) {
      Dwarf_Die candidate = concrete[i];
      // Two DIEs are the same if they lie at the same place in the file.
      if (AbstractOrigin(candidate).addr != source.addr && !(concrete.size() == all.size() && i == position)) continue;
      info.die = candidate;
      info.has_die = true;
      break;
    }
    Parameter& described = info.described;
    described.number = static_cast<uint8_t>(position + 1);
    described.name = DieName(info.die);
    described.artificial = AttributeFlag(info.die, DW_AT_artificial);
    described.is_receiver =
        described.artificial && position == 0 && (described.name == "this" || described.name.empty());
    if (described.is_receiver) described.name = "this";
    info.type = TypeOf(info.die);
    described.type = DescribeType(debug, info.type);
    parameters.push_back(std::move(info));
  }
  return parameters;
}

const std::optional<Dwarf_Die>& CodeReader::CallSiteAt(TargetAddress return_address) {
  const auto known = call_sites_.find(return_address);
  if (known != call_sites_.end()) return known->second;
  const CodeInfo& code = At(return_address - 1);
  std::optional<Dwarf_Die> site;
  if (code.scopes) site = FindCallSite(code.scopes->function, return_address.value - code.module->bias());
  return call_sites_.emplace(return_address, site).first->second;
}

DebugInfo* CodeReader::DebugOf(const LoadedModule* module) {
  if (module->dwarf == nullptr) return nullptr;
  return &debug_.try_emplace(module, *module->dwarf).first->second;
}

const CodeInfo& CodeReader::At(TargetAddress address) {
  auto& slot = known_[address];
  if (slot == nullptr) slot = Read(address);
  return *slot;
}

std::unique_ptr<CodeInfo> CodeReader::Read(TargetAddress address) {
  auto info = std::make_unique<CodeInfo>();
  info->module = modules_.Find(address);
  if (info->module == nullptr) return info;
  info->debug = DebugOf(info->module);
  const auto [map, is_new] = maps_.try_emplace(info->module);
  if (is_new) map->second = ReadRecordMap(*info->module, modules_.notes());
  info->map = &map->second;
  const uint64_t offset = address.value - info->module->bias();
  info->range = info->module->names->FunctionAt(offset);
  if (!info->range && info->module->names != info->module->image) info->range = info->module->image->FunctionAt(offset);
  if (info->range) info->entry = {info->range->start + info->module->bias()};
  if (info->debug != nullptr) ReadDebug(*info, offset);

  if (info->live.empty() && info->range && !info->range->names.empty()) {
    LiveFunction function;
    function.linkage_name = std::string(info->range->names.front());
    function.function = ReadableName(function.linkage_name);
    if (info->debug != nullptr) function.at = info->debug->LineAt(offset).value_or(SourceLine{});
    info->live.push_back(std::move(function));
  }
  if (info->range)
    for (const std::string_view name : info->range->names) AddHashes(name, info->hashes);
  return info;
}

void CodeReader::ReadDebug(CodeInfo& info, uint64_t offset) {
  DebugInfo& debug = *info.debug;
  info.scopes = debug.ScopesAt(offset);
  if (!info.scopes) return;
  CodeScopes& scopes = *info.scopes;
  // gcc splits off cold parts. "f.cold" is a part of f, and its entry is that of f.
  if (scopes.entry != 0) info.entry = {scopes.entry + info.module->bias()};

  SourceLine at = debug.LineAt(scopes.unit, offset).value_or(SourceLine{});
  const auto add = [&](Dwarf_Die die, bool inlined) {
    LiveFunction function;
    function.die = die;
    function.inlined = inlined;
    function.linkage_name = LinkageName(die);
    if (function.linkage_name.empty()) function.linkage_name = DieName(die);
    function.function = FunctionName(debug, die, function.linkage_name);
    function.declared = DebugInfo::DeclaredAt(die);
    function.at = at;
    function.returns = !AttributeFlag(die, DW_AT_noreturn);
    function.parameters = ParametersOf(debug, die);
    info.live.push_back(std::move(function));
  };
  for (auto inlined = scopes.inlined.rbegin(); inlined != scopes.inlined.rend(); ++inlined) {
    add(*inlined, true);
    at = DebugInfo::CalledAt(*inlined, scopes.unit);
  }
  add(scopes.function, false);

  // The symbol names the right variant of a constructor; DWARF often names another.
  LiveFunction& function = info.live.back();
  if (info.range && !info.range->names.empty()) {
    const auto& names = info.range->names;
    if (std::find(names.begin(), names.end(), function.linkage_name) == names.end() &&
        info.range->start == scopes.entry) {
      function.linkage_name = std::string(names.front());
      // -g1 leaves linkage names to the symbols.
      Dwarf_Die die = function.die;
      if (LinkageName(die).empty() && names.front().starts_with("_Z"))
        function.function = ReadableName(function.linkage_name);
    }
  }
}

}  // namespace recrash
