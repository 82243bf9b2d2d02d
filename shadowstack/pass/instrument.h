// What the pass does to a module, in the compile step or, under link-time optimisation, in both steps.
#ifndef RECRASH_SHADOWSTACK_PASS_INSTRUMENT_H_
#define RECRASH_SHADOWSTACK_PASS_INSTRUMENT_H_

#include "llvm/IR/Module.h"

namespace recrash::pass {

void InstrumentAtCompile(llvm::Module& module);

// Before the optimiser runs, in the compile step: only there the command line and the sources are known.
void DeferToLink(llvm::Module& module);

// Does in the link step what the compile step has deferred. The module may have functions of many objects, each
// compiled with its own options, or without the pass.
void InstrumentAtLink(llvm::Module& module);

}  // namespace recrash::pass

#endif  // RECRASH_SHADOWSTACK_PASS_INSTRUMENT_H_
