// The variables of a running function that lie on the stack.
//
//   for (const VariablePlace& variable : StackVariablesOf(values, live))
//     fmt::print("{:#x}\n", variable.address.value);
#ifndef RECRASH_TESTGEN_SYMBOLS_VALUES_STACK_VARIABLES_H_
#define RECRASH_TESTGEN_SYMBOLS_VALUES_STACK_VARIABLES_H_

#include <vector>

#include "testgen/symbols/stack/code_info.h"
#include "testgen/symbols/stack/frame.h"
#include "testgen/symbols/values/frame_values.h"

namespace recrash {

// Parameters count. `live` is the reader's function or one that is inlined there. Only what is in scope at the frame's
// pc; one of two variables that share a place is not.
std::vector<VariablePlace> StackVariablesOf(ValueReader& values, const LiveFunction& live);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_VALUES_STACK_VARIABLES_H_
