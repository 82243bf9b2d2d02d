// DW_TAG_call_site: what a caller says it passed. The only source of a register argument that the callee has dropped.
#ifndef RECRASH_TESTGEN_SYMBOLS_STACK_CALL_SITE_H_
#define RECRASH_TESTGEN_SYMBOLS_STACK_CALL_SITE_H_

#include <elfutils/libdw.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "testgen/symbols/dwarf/expression.h"
#include "testgen/symbols/stack/code_info.h"

namespace recrash {

// The call in `function` that returns to `return_address` (of the file). DWARF 5 and GNU's DWARF 4 form.
std::optional<Dwarf_Die> FindCallSite(Dwarf_Die function, uint64_t return_address);

enum class Leads { kElsewhere, kPerhaps, kStraight };

// Whether the call leads straight to `callee`. Perhaps, where it is indirect and its target is not known any more: it
// may have come there by a tail call.
Leads LeadsTo(Dwarf_Die& site, const CodeInfo& callee, const ExpressionContext& context);

// The expression of the value passed in the register, or at the stack place, that `place` names.
std::optional<Dwarf_Attribute> CallSiteValue(Dwarf_Die& site, const Dwarf_Op& place);

// DW_AT_const_value as bytes of a value of `size`.
std::optional<std::vector<uint8_t>> ConstantBytes(Dwarf_Attribute& attribute, uint64_t size);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_STACK_CALL_SITE_H_
