// Where the installed collector lies, as a text in each program that is instrumented: an installed tree may be moved,
// and the client's archive does not know where to.
#ifndef RECRASH_SHADOWSTACK_PASS_COLLECTOR_PLACE_H_
#define RECRASH_SHADOWSTACK_PASS_COLLECTOR_PLACE_H_

#include "llvm/IR/Module.h"

namespace recrash::pass {

// Adds abi::kCollectorPlace where a collector is installed with this plugin (PREFIX/lib/recrash, PREFIX/bin). The
// linker keeps one of all modules.
void AddCollectorPlace(llvm::Module& module);

}  // namespace recrash::pass

#endif  // RECRASH_SHADOWSTACK_PASS_COLLECTOR_PLACE_H_
