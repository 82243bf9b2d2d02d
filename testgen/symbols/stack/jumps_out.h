// Functions that end in a jump to a function of another module: one that only compares two strings, say, jumps to
// strcmp. Where a library calls such a function and the jump's target fails, the stack has no frame of it.
//
//   for (const JumpOut& jump : JumpsOut(debug)) names.push_back(jump.callee);
#ifndef RECRASH_TESTGEN_SYMBOLS_STACK_JUMPS_OUT_H_
#define RECRASH_TESTGEN_SYMBOLS_STACK_JUMPS_OUT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "testgen/symbols/dwarf/debug_info.h"
#include "testgen/symbols/files/module_set.h"

namespace recrash {

struct JumpOut {
  uint64_t address = 0;  // of the file; inside the jump
  std::string callee;
};

// Returns those that debug information names, of one function out of line or of all.
std::vector<JumpOut> JumpsOutOf(Dwarf_Die function);
std::vector<JumpOut> JumpsOut(DebugInfo& debug);

// Whether the instruction that returns to the address is a call of whatever a register or memory holds.
bool IsIndirectCall(ModuleSet& modules, TargetAddress return_address);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_STACK_JUMPS_OUT_H_
