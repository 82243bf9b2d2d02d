// The record: an alloca of the function's own frame that holds its argument words, and its descriptor in the map.
#ifndef RECRASH_SHADOWSTACK_PASS_RECORD_H_
#define RECRASH_SHADOWSTACK_PASS_RECORD_H_

#include "llvm/IR/Function.h"
#include "shadowstack/pass/options.h"

namespace recrash::pass {

// True when the function was changed: it has at least one argument that it uses.
bool AddRecord(llvm::Function& function, const Options& options);

}  // namespace recrash::pass

#endif  // RECRASH_SHADOWSTACK_PASS_RECORD_H_
