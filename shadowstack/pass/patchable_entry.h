// Makes a function's entry patchable: a few bytes before it that are never executed while nothing is patched.
#ifndef RECRASH_SHADOWSTACK_PASS_PATCHABLE_ENTRY_H_
#define RECRASH_SHADOWSTACK_PASS_PATCHABLE_ENTRY_H_

#include "llvm/IR/Function.h"

namespace recrash::pass {

// False when the function has a prefix of its own already (no language of clang's gives one).
bool MakeEntryPatchable(llvm::Function& function, bool stores_at_entry);

}  // namespace recrash::pass

#endif  // RECRASH_SHADOWSTACK_PASS_PATCHABLE_ENTRY_H_
