#include "testgen/symbols/values/stack_variables.h"

#include <dwarf.h>

#include <cstring>

namespace recrash {
namespace {

constexpr size_t kMostVariables = 1000;
constexpr int kDeepestBlock = 32;

// Those of the scope and of its blocks at the address of the file.
void AddVariables(Dwarf_Die scope, uint64_t address, int depth, std::vector<Dwarf_Die>* found) {
  for (Dwarf_Die& child : Children(scope)) {
    const int tag = dwarf_tag(&child);
    if (tag == DW_TAG_lexical_block && depth < kDeepestBlock && dwarf_haspc(&child, address) == 1)
      AddVariables(child, address, depth + 1, found);
    if (tag != DW_TAG_variable && tag != DW_TAG_formal_parameter) continue;
    if (found->size() < kMostVariables && !AttributeFlag(child, DW_AT_external)) found->push_back(child);
  }
}

}  // namespace

std::vector<VariablePlace> StackVariablesOf(ValueReader& values, const LiveFunction& live) {
  std::vector<VariablePlace> places;
  const CodeInfo& code = values.code();
  if (!code.scopes || !code.module) return places;
  std::vector<Dwarf_Die> variables;
  AddVariables(live.die, values.lookup_pc().value - code.module->bias(), 0, &variables);
  for (Dwarf_Die& variable : variables) {
    const auto bytes = values.AddressAtPc(variable);
    if (!bytes) continue;
    VariablePlace place;
    std::memcpy(&place.address.value, bytes->data(), sizeof place.address.value);
    place.die = dwarf_dieoffset(&variable);
    places.push_back(place);
  }
  return places;
}

}  // namespace recrash
