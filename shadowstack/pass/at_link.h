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

// What the compile step hands to the link step.
struct Deferred {
  Options options;
  Wish wish;
};

void Defer(llvm::Function& function, const Deferred& deferred);

// Takes it from the function again. Returns nothing for a function that was compiled without the pass, or already has
// its record.
std::optional<Deferred> TakeDeferred(llvm::Function& function);

// Adds a reference to an undefined symbol whose name says what to do. The link step removes it. A linker that has not
// loaded the pass reports it: otherwise the program would silently have no records.
void RequirePassAtLink(llvm::Module& module);
void DropRequirement(llvm::Module& module);

}  // namespace recrash::pass

#endif  // RECRASH_SHADOWSTACK_PASS_AT_LINK_H_
