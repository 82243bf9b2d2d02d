// The ELF note that says what the build was: shadowstack/abi.h, `.note.recrash`.
#ifndef RECRASH_SHADOWSTACK_PASS_NOTE_H_
#define RECRASH_SHADOWSTACK_PASS_NOTE_H_

#include "llvm/IR/Module.h"
#include "shadowstack/pass/selection/options.h"

namespace recrash::pass {

// True if the pass has run on this module: bitcode of an instrumented compilation that is compiled on (as by
// -fthinlto-index=).
bool HasBuildNote(const llvm::Module& module);

void AddBuildNote(llvm::Module& module, const Options& options);

}  // namespace recrash::pass

#endif  // RECRASH_SHADOWSTACK_PASS_NOTE_H_
