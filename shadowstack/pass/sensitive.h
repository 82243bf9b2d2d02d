// Parameters and local variables that the source marks (RECRASH_MARKED of include/recrash/recrash.h): calls that mark
// them where they come to be, and take that back at each exit of the function, by an exception as well.
//
// Before the optimiser runs: the address of such a variable is then known outside of the function, so that the variable
// lives in memory as long as calls can look at it. What it is, debug information tells.
#ifndef RECRASH_SHADOWSTACK_PASS_SENSITIVE_H_
#define RECRASH_SHADOWSTACK_PASS_SENSITIVE_H_

#include "llvm/IR/Module.h"

namespace recrash::pass {

// Returns true if there were any. Reports those as errors that cannot be marked, members among them: memory of a class
// may live where no code of this module has looked at it.
bool MarkSensitiveVariables(llvm::Module& module);

}  // namespace recrash::pass

#endif  // RECRASH_SHADOWSTACK_PASS_SENSITIVE_H_
