// Puts together the call of a frame without a record, from DWARF. Types give the places of arguments; call sites and
// locations give their values.
#ifndef RECRASH_TESTGEN_SYMBOLS_VALUES_DWARF_CALL_H_
#define RECRASH_TESTGEN_SYMBOLS_VALUES_DWARF_CALL_H_

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "testgen/symbols/stack/argument_places.h"
#include "testgen/symbols/stack/code_info.h"
#include "testgen/symbols/values/frame_values.h"

namespace recrash {

struct DwarfCall {
  bool complete = false;
  std::string why_not;  // one sentence, when it is not
  std::vector<ReplayWord> words;
};

// Puts together the call of the frame's function. Fills in the values of `parameters`, one for each parameter of the
// function, as they were at the entry, as far as they are known. A value that comes from the location at pc may have
// changed since the entry. All values from here are marked ValueSource::kDwarf. REQUIRES: values.code().scopes.
DwarfCall CallFromDwarf(ValueReader& values, std::vector<Parameter>& parameters);

// Appends the words that pass `bytes`, the parameter's value or the address of one, at its places.
void AppendPieces(const PlacedParameter& placed, uint8_t parameter, std::span<const uint8_t> bytes,
                  std::vector<ReplayWord>& words);

// Returns true if the compiler found no use for the parameter. It has no location then, and any value will do.
bool IsUnused(const ParameterInfo& parameter);

std::string ParameterName(const Parameter& parameter);  // "`count`", "number 2"

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_VALUES_DWARF_CALL_H_
