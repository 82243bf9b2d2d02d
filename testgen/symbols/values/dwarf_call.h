// The call that a frame without a record was entered by, put together from DWARF: types give the places, call sites and
// locations the values.
#ifndef RECRASH_TESTGEN_SYMBOLS_VALUES_DWARF_CALL_H_
#define RECRASH_TESTGEN_SYMBOLS_VALUES_DWARF_CALL_H_

#include <optional>
#include <string>
#include <vector>

#include "testgen/symbols/dwarf/calling_convention.h"
#include "testgen/symbols/stack/code_info.h"
#include "testgen/symbols/values/frame_values.h"

namespace recrash {

// Where the function's arguments are passed; nothing when the compiler changed that (DW_CC_nocall) or a type is beyond
// the known rules.
std::optional<PlacedCall> PlacesOf(DebugInfo& debug, const LiveFunction& function);

struct DwarfCall {
  bool complete = false;
  std::string why_not;  // one sentence, when it is not
  std::vector<ReplayWord> words;
};

// Fills in the parameters' values as they were on entry, as far as they are known. A value that only the location at pc
// gives may have been changed since: like all from here it is marked ValueSource::kDwarf.
DwarfCall CallFromDwarf(ValueReader& values, size_t index, const CodeInfo& code, const LiveFunction& function,
                        std::vector<Parameter>& parameters);

// Has the compiler found no use for the parameter? Then it has no location anywhere, and any value will do.
bool IsUnused(const ParameterInfo& parameter);

std::string ParameterName(const Parameter& parameter);  // "`count`", "number 2"

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_VALUES_DWARF_CALL_H_
