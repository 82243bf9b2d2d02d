// The ELF note that says what the build was: shadowstack/abi.h, `.note.recrash`.
#ifndef RECRASH_SHADOWSTACK_PASS_NOTE_H_
#define RECRASH_SHADOWSTACK_PASS_NOTE_H_

#include "llvm/IR/Module.h"
#include "shadowstack/pass/options.h"

namespace recrash::pass {

void AddBuildNote(llvm::Module& module, const Options& options);

}  // namespace recrash::pass

#endif  // RECRASH_SHADOWSTACK_PASS_NOTE_H_
