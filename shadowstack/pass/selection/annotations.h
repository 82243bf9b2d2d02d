// Reads what the source says of its functions: [[clang::annotate("recrash::never")]] and its like
// (include/recrash/recrash.h).
#ifndef RECRASH_SHADOWSTACK_PASS_SELECTION_ANNOTATIONS_H_
#define RECRASH_SHADOWSTACK_PASS_SELECTION_ANNOTATIONS_H_

#include "llvm/IR/Function.h"
#include "llvm/IR/Module.h"
#include "shadowstack/pass/selection/wish.h"

namespace recrash::pass {

// Turns recrash's entries of llvm.global.annotations into attributes of the functions, and removes the entries. Returns
// true if there were any. Reports entries that it does not understand as errors.
bool TurnAnnotationsIntoAttributes(llvm::Module& module);

// Returns what the function's own attributes say.
Wish AnnotatedWish(const llvm::Function& function);

}  // namespace recrash::pass

#endif  // RECRASH_SHADOWSTACK_PASS_SELECTION_ANNOTATIONS_H_
