#include "testgen/symbols/stack/call_site.h"

#include <dwarf.h>

#include <algorithm>

namespace recrash {
namespace {

constexpr int kMaxNesting = 128;

bool ReturnsTo(Dwarf_Die& site, uint64_t return_address) {
  Dwarf_Attribute attribute;
  Dwarf_Addr address = 0;
  const unsigned code = dwarf_tag(&site) == DW_TAG_call_site ? DW_AT_call_return_pc : DW_AT_low_pc;
  return dwarf_attr(&site, code, &attribute) != nullptr && dwarf_formaddr(&attribute, &address) == 0 &&
         address == return_address;
}

std::optional<Dwarf_Die> Search(Dwarf_Die& scope, uint64_t return_address, int depth) {
  if (depth > kMaxNesting) return std::nullopt;
  for (Dwarf_Die& child : Children(scope)) {
    const int tag = dwarf_tag(&child);
    if ((tag == DW_TAG_call_site || tag == DW_TAG_GNU_call_site) && ReturnsTo(child, return_address)) return child;
    if (tag != DW_TAG_lexical_block && tag != DW_TAG_inlined_subroutine) continue;
    if (auto found = Search(child, return_address, depth + 1)) return found;
  }
  return std::nullopt;
}

bool SamePlace(const Dwarf_Op& a, const Dwarf_Op& b) {
  // A register has two spellings, DW_OP_reg3 and DW_OP_regx 3. A place on the stack is an offset from a register.
  const auto reg = [](const Dwarf_Op& op) -> int64_t {
    if (op.atom >= DW_OP_reg0 && op.atom <= DW_OP_reg31) return op.atom - DW_OP_reg0;
    return op.atom == DW_OP_regx ? static_cast<int64_t>(op.number) : -1;
  };
  if (reg(a) >= 0 || reg(b) >= 0) return reg(a) == reg(b);
  return a.atom == b.atom && a.number == b.number && a.number2 == b.number2;
}

bool IsNamed(Dwarf_Die& target, const CodeInfo& callee, const ExpressionContext& context) {
  std::string name = LinkageName(target);
  if (name.empty()) name = DieName(target);
  if (!callee.live.empty() && callee.live.back().linkage_name == name) return true;
  if (!callee.range) return false;
  const auto& names = callee.range->names;
  if (std::find(names.begin(), names.end(), name) != names.end()) return true;
  // The DIE of a constructor may name another of its variants than the symbol does; then the address decides.
  Dwarf_Addr entry = 0;
  return dwarf_entrypc(&target, &entry) == 0 && entry + context.bias == callee.entry.value;
}

}  // namespace

std::optional<Dwarf_Die> FindCallSite(Dwarf_Die function, uint64_t return_address) {
  return Search(function, return_address, 0);
}

unsigned CalleeAttribute(Dwarf_Die site) {
  return dwarf_tag(&site) == DW_TAG_call_site ? DW_AT_call_origin : DW_AT_abstract_origin;
}

std::optional<TargetAddress> CalleeOf(Dwarf_Die site, LoadedModule& module) {
  auto target = OwnAttributeDie(site, CalleeAttribute(site));
  Dwarf_Addr entry = 0;
  if (!target) return std::nullopt;
  if (dwarf_entrypc(&*target, &entry) == 0) return TargetAddress{entry + module.bias()};
  std::string name = LinkageName(*target);
  if (name.empty()) name = DieName(*target);
  const std::vector<uint64_t> found = module.names->FunctionsNamed(name);
  return found.size() == 1 ? std::optional(TargetAddress{found[0] + module.bias()}) : std::nullopt;
}

namespace {

void AddTailCalls(Dwarf_Die& scope, int depth, std::vector<TailCall>* jumps) {
  if (depth > kMaxNesting) return;
  for (Dwarf_Die& child : Children(scope)) {
    const int tag = dwarf_tag(&child);
    if (tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine) AddTailCalls(child, depth + 1, jumps);
    if (tag != DW_TAG_call_site && tag != DW_TAG_GNU_call_site) continue;
    if (!AttributeFlag(child, tag == DW_TAG_call_site ? DW_AT_call_tail_call : DW_AT_GNU_tail_call)) continue;
    Dwarf_Attribute attribute;
    Dwarf_Addr address = 0;
    // clang gives the jump itself, gcc the address behind it.
    if (dwarf_attr(&child, DW_AT_call_pc, &attribute) != nullptr && dwarf_formaddr(&attribute, &address) == 0) {
      jumps->push_back({address, child});
    } else if (dwarf_attr(&child, tag == DW_TAG_call_site ? DW_AT_call_return_pc : DW_AT_low_pc, &attribute) !=
                   nullptr &&
               dwarf_formaddr(&attribute, &address) == 0) {
      jumps->push_back({address - 1, child});
    }
  }
}

}  // namespace

std::vector<TailCall> TailCallsOf(Dwarf_Die function) {
  std::vector<TailCall> jumps;
  AddTailCalls(function, 0, &jumps);
  return jumps;
}

Leads LeadsTo(Dwarf_Die& site, const CodeInfo& callee, const ExpressionContext& context) {
  Dwarf_Attribute attribute;
  const bool standard = dwarf_tag(&site) == DW_TAG_call_site;
  if (auto target = OwnAttributeDie(site, CalleeAttribute(site)))
    return IsNamed(*target, callee, context) ? Leads::kStraight : Leads::kElsewhere;
  if (dwarf_attr(&site, standard ? DW_AT_call_target : DW_AT_GNU_call_site_target, &attribute) == nullptr)
    return Leads::kPerhaps;
  Dwarf_Op* ops = nullptr;
  size_t count = 0;
  ExpressionContext inner = context;
  inner.attribute = &attribute;
  if (dwarf_getlocation(&attribute, &ops, &count) != 0) return Leads::kElsewhere;
  const auto address = EvaluateNumber(ops, count, inner);
  if (!address) return Leads::kPerhaps;
  return *address == callee.entry.value ? Leads::kStraight : Leads::kElsewhere;
}

std::optional<Dwarf_Attribute> CallSiteValue(Dwarf_Die& site, const Dwarf_Op& place) {
  for (Dwarf_Die& parameter : Children(site)) {
    const int tag = dwarf_tag(&parameter);
    if (tag != DW_TAG_call_site_parameter && tag != DW_TAG_GNU_call_site_parameter) continue;
    Dwarf_Attribute location;
    Dwarf_Op* ops = nullptr;
    size_t count = 0;
    if (dwarf_attr(&parameter, DW_AT_location, &location) == nullptr ||
        dwarf_getlocation(&location, &ops, &count) != 0 || count != 1 || !SamePlace(ops[0], place))
      continue;
    Dwarf_Attribute value;
    const unsigned code = tag == DW_TAG_call_site_parameter ? DW_AT_call_value : DW_AT_GNU_call_site_value;
    if (dwarf_attr(&parameter, code, &value) != nullptr) return value;
  }
  return std::nullopt;
}

std::optional<Bytes> ConstantBytes(Dwarf_Attribute& attribute, uint64_t size) {
  Dwarf_Block block;
  if (dwarf_formblock(&attribute, &block) == 0) {
    if (block.length < size) return std::nullopt;
    return Bytes(block.data, block.data + size);
  }
  Dwarf_Sword number = 0;
  return dwarf_formsdata(&attribute, &number) == 0 ? FirstBytes(number, size) : std::nullopt;
}

}  // namespace recrash
