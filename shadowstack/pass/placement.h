// Which arguments need a place in the record, and where in the function they are stored.
//
// An argument that is still used after each place where the function can fail or wait needs no store: it is in a
// register or a stack slot there, and DWARF says in which. It has a word in the descriptor only. An argument that dies
// earlier is stored on the paths where it dies, as late as possible. So a path that returns at once, or fails in its
// own loads with its arguments at hand, pays nothing. (A path may store an argument twice; the value is the same.)
#ifndef RECRASH_SHADOWSTACK_PASS_PLACEMENT_H_
#define RECRASH_SHADOWSTACK_PASS_PLACEMENT_H_

#include <vector>

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Function.h"
#include "shadowstack/pass/source_parameters.h"
#include "shadowstack/pass/write_effects.h"

namespace recrash::pass {

struct ArgumentPlace {
  bool followed = false;  // debug information has its value wherever it is alive
  // The argument is stored before each of these. Empty: not stored.
  llvm::SmallVector<llvm::Instruction*, 1> before;
  llvm::Instruction* copies_before = nullptr;  // where its fields are copied
};

// The function's accesses to what is copied through an argument.
using CopiedFields = std::vector<const llvm::Instruction*>;

// Returns one entry for each argument. All fields are copied at one place, before any of them is written. If that is
// not the function's first block, the pointers are stored with them, to show that the copies were made.
std::vector<ArgumentPlace> PlaceArguments(llvm::Function& function, const std::vector<SourceParameter>& sources,
                                          const std::vector<CopiedFields>& copied, WriteEffects* effects);

// Returns the place behind the allocas and, at -O0, behind the stores of the parameters to their stack slots. Copies of
// fields carry the source line of the access, and a debugger takes the first line it meets for the end of the prologue.
llvm::Instruction* HeadOf(llvm::Function& function);

}  // namespace recrash::pass

#endif  // RECRASH_SHADOWSTACK_PASS_PLACEMENT_H_
