// What the pass does to a module, in the compile step or, under link-time optimisation, in both steps.
#ifndef RECRASH_SHADOWSTACK_PASS_INSTRUMENT_H_
#define RECRASH_SHADOWSTACK_PASS_INSTRUMENT_H_

#include "llvm/IR/Module.h"

namespace recrash::pass {

void InstrumentAtCompile(llvm::Module& module);

// Before the optimiser runs, in the compile step: only there the command line and the sources are known.
void DeferToLink(llvm::Module& module);

// What was deferred. The module may have functions of many objects, each compiled with options of its own, or without
// the pass.
void InstrumentAtLink(llvm::Module& module);

}  // namespace recrash::pass

#endif  // RECRASH_SHADOWSTACK_PASS_INSTRUMENT_H_
