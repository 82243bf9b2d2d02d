// Reads DW_TAG_call_site: what a caller says that it passed. For a register argument that the callee has dropped, this
// is the only source.
//
//   const std::optional<Dwarf_Die> site = FindCallSite(caller_function, return_address);
//   if (site && LeadsTo(*site, callee, context) == Leads::kStraight) value = CallSiteValue(*site, place);
#ifndef RECRASH_TESTGEN_SYMBOLS_STACK_CALL_SITE_H_
#define RECRASH_TESTGEN_SYMBOLS_STACK_CALL_SITE_H_

#include <elfutils/libdw.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "testgen/symbols/dwarf/expression.h"
#include "testgen/symbols/stack/code_info.h"

namespace recrash {

// Returns the call in `function` that returns to `return_address`, an address of the file. Reads DWARF 5 and GNU's form
// for DWARF 4.
std::optional<Dwarf_Die> FindCallSite(Dwarf_Die function, uint64_t return_address);

// Returns the attribute in which the call names its function.
unsigned CalleeAttribute(Dwarf_Die site);

// Returns where the function that the call names begins in the same module; nothing if it names none, or several.
std::optional<TargetAddress> CalleeOf(Dwarf_Die site, LoadedModule& module);

// The jump by which a function ends in a call of another one.
struct TailCall {
  uint64_t address = 0;  // of the file; inside the jump
  Dwarf_Die site{};
};
std::vector<TailCall> TailCallsOf(Dwarf_Die function);

enum class Leads { kElsewhere, kPerhaps, kStraight };

// Says if the call leads straight to `callee`. kPerhaps: the call is indirect and its target is not known any more, so
// it may have come to `callee` by a tail call.
Leads LeadsTo(Dwarf_Die& site, const CodeInfo& callee, const ExpressionContext& context);

// Returns the expression of the value that was passed in the register, or at the place on the stack, that `place`
// names.
std::optional<Dwarf_Attribute> CallSiteValue(Dwarf_Die& site, const Dwarf_Op& place);

// Returns the attribute DW_AT_const_value as the bytes of a value of `size` bytes; nothing if it has fewer.
std::optional<Bytes> ConstantBytes(Dwarf_Attribute& attribute, uint64_t size);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_STACK_CALL_SITE_H_
