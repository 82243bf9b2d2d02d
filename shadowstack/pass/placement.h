// Which arguments need a place in the record, and where in the function they are stored.
//
// An argument that the function still uses afterwards is alive in a register or a stack slot wherever the function can
// fail or be waited for, and debug information says in which: it has a word in the descriptor and no store. What dies
// earlier is stored on the paths where it does, as late as they allow, so that a path that returns at once, or fails in
// its own loads with its arguments still at hand, pays nothing. (Stored twice on a path it is the same value.)
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
  // It is stored before each of these. Empty: not stored.
  llvm::SmallVector<llvm::Instruction*, 1> before;
  llvm::Instruction* copies_before = nullptr;  // where its fields are copied
};

// The function's accesses to what is copied through an argument.
using CopiedFields = std::vector<const llvm::Instruction*>;

// One entry an argument. Fields are all copied at one place, before any of them is written. Where that is not the
// function's first block, the pointers are stored with them, to show that the copies were made.
std::vector<ArgumentPlace> PlaceArguments(llvm::Function& function, const std::vector<SourceParameter>& sources,
                                          const std::vector<CopiedFields>& copied, WriteEffects* effects);

// Behind the allocas, and at -O0 behind the stores that give each parameter its home: our copies of fields carry the
// source line of the access, and the debugger takes the first line it meets for the end of the prologue.
llvm::Instruction* HeadOf(llvm::Function& function);

}  // namespace recrash::pass

#endif  // RECRASH_SHADOWSTACK_PASS_PLACEMENT_H_
