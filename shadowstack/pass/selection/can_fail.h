// Tells what can end in a failure: accesses to memory that may not be mapped, divisions, calls.
#ifndef RECRASH_SHADOWSTACK_PASS_SELECTION_CAN_FAIL_H_
#define RECRASH_SHADOWSTACK_PASS_SELECTION_CAN_FAIL_H_

#include "llvm/IR/Function.h"

namespace recrash::pass {

// True for calls, too: the callee may fail.
bool CanFail(const llvm::Instruction& instruction);

// False when no live frame of the function can be part of a failure: it calls nothing and does nothing that faults.
bool CanFail(const llvm::Function& function);

}  // namespace recrash::pass

#endif  // RECRASH_SHADOWSTACK_PASS_SELECTION_CAN_FAIL_H_
