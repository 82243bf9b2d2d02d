// Which functions get a record, or an entry that can be patched.
#ifndef RECRASH_SHADOWSTACK_PASS_SELECTION_H_
#define RECRASH_SHADOWSTACK_PASS_SELECTION_H_

#include "llvm/ADT/StringRef.h"
#include "llvm/IR/Function.h"
#include "shadowstack/pass/options.h"

namespace recrash::pass {

// True for `std::`, `__gnu_cxx::` and `__cxxabiv1::` functions and what is local to them, by their mangled name.
bool IsStandardLibrary(llvm::StringRef linkage_name);

bool ShouldInstrument(const llvm::Function& function, const Options& options);

}  // namespace recrash::pass

#endif  // RECRASH_SHADOWSTACK_PASS_SELECTION_H_
