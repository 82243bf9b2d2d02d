#include "testgen/symbols/layout/vtable_slots.h"

#include <dwarf.h>

#include <algorithm>
#include <optional>

#include "testgen/symbols/dwarf/debug_info.h"
#include "testgen/symbols/dwarf/types.h"

namespace recrash {
namespace {

constexpr int kMostBases = 16;  // one in another
constexpr uint64_t kMostSlots = 1 << 16;
constexpr uint32_t kOfDestructor = 2;  // one that deletes as well

// The number in DW_AT_vtable_elem_location, which is the expression of a constant.
std::optional<uint32_t> GivenSlot(Dwarf_Die& function) {
  Dwarf_Attribute attribute;
  Dwarf_Op* expression = nullptr;
  size_t length = 0;
  if (dwarf_getlocation(dwarf_attr(&function, DW_AT_vtable_elem_location, &attribute), &expression, &length) != 0 ||
      length == 0)
    return std::nullopt;
  if (expression[0].atom >= DW_OP_lit0 && expression[0].atom <= DW_OP_lit31)
    return static_cast<uint32_t>(expression[0].atom - DW_OP_lit0);
  return static_cast<uint32_t>(std::min<uint64_t>(expression[0].number, kMostSlots));
}

struct Slots {
  uint32_t declared = 0;               // what VtableSlots returns
  uint32_t all = 0;                    // with those of the first base
  std::optional<uint32_t> destructor;  // the first of its slots
};

Slots SlotsOf(Dwarf_Die& type, int depth) {
  Slots slots;
  for (Dwarf_Die& child : Children(type)) {
    const int tag = dwarf_tag(&child);
    if (tag == DW_TAG_inheritance && depth < kMostBases && slots.all == 0) {
      auto base = TypeOf(child);
      if (!base) continue;
      Dwarf_Die resolved = StripType(*base);
      const Slots of_base = SlotsOf(resolved, depth + 1);
      slots.all = of_base.all;
      slots.destructor = of_base.destructor;
    }
    if (tag != DW_TAG_subprogram || AttributeNumber(child, DW_AT_virtuality).value_or(0) == 0) continue;
    const bool is_destructor = DieName(child).starts_with('~');
    if (is_destructor && AttributeFlag(child, DW_AT_artificial)) continue;
    std::optional<uint32_t> slot = GivenSlot(child);
    if (!slot && is_destructor) slot = slots.destructor.value_or(slots.all);
    if (!slot) continue;
    if (is_destructor) slots.destructor = slot;
    slots.declared = std::max(slots.declared, *slot + 1);
    slots.all = std::max(slots.all, *slot + (is_destructor ? kOfDestructor : 1));
  }
  return slots;
}

}  // namespace

uint32_t VtableSlots(Dwarf_Die& type) { return SlotsOf(type, 0).declared; }

}  // namespace recrash
