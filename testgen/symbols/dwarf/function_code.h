// The code of a function of the source: out of line, and inlined into others.
//
//   for (const FunctionCode& code : CodeWith(debug, "find", "tree.cc")) rows = debug.RowsIn(code.low, code.high);
#ifndef RECRASH_TESTGEN_SYMBOLS_DWARF_FUNCTION_CODE_H_
#define RECRASH_TESTGEN_SYMBOLS_DWARF_FUNCTION_CODE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "testgen/symbols/dwarf/debug_info.h"

namespace recrash {

// One range of the code of a function out of line; addresses of the file.
struct FunctionCode {
  Dwarf_Off function = 0;
  uint64_t low = 0;
  uint64_t high = 0;
};

// Returns the code of each function out of line that is called `name`, or into which one of that name is inlined.
// `name` is without scopes and template arguments. Only units that have a source file called `file` are looked at.
std::vector<FunctionCode> CodeWith(DebugInfo& debug, const std::string& name, const std::string& file);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_DWARF_FUNCTION_CODE_H_
