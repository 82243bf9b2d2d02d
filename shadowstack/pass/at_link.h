// Link-time optimisation: records are made where the last inlining is done, in the link step, by the pass that the
// linker loads. What was decided for a function in the compile step travels in its bitcode; linkers take no options for
// plugins.
#ifndef RECRASH_SHADOWSTACK_PASS_AT_LINK_H_
#define RECRASH_SHADOWSTACK_PASS_AT_LINK_H_

#include <optional>

#include "llvm/IR/Function.h"
#include "llvm/IR/Module.h"
#include "shadowstack/pass/selection/options.h"
#include "shadowstack/pass/selection/wish.h"

namespace recrash::pass {

// What the compile step leaves to the link step.
struct Deferred {
  Options options;
  Wish wish;
};

void Defer(llvm::Function& function, const Deferred& deferred);

// And takes it from the function; nothing where it was compiled without the pass, or has its record already.
std::optional<Deferred> TakeDeferred(llvm::Function& function);

// A reference to a symbol that nothing defines, and that says by its name what to do. The link step takes it out again;
// where the linker has not loaded the pass it complains, lest a program is without records and nobody knows.
void RequirePassAtLink(llvm::Module& module);
void DropRequirement(llvm::Module& module);

}  // namespace recrash::pass

#endif  // RECRASH_SHADOWSTACK_PASS_AT_LINK_H_
