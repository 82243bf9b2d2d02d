// Which arguments need a place in the record, and where in the function they are stored.
//
// An argument that the function still uses afterwards is alive in a register or a stack slot wherever the function can
// fail or be waited for, and debug information says in which: it has a word in the descriptor and no store. What dies
// earlier is stored, once on each path and as late as the paths allow, so that a path that returns at once, or fails in
// its own loads with its arguments still at hand, pays nothing.
#ifndef RECRASH_SHADOWSTACK_PASS_PLACEMENT_H_
#define RECRASH_SHADOWSTACK_PASS_PLACEMENT_H_

#include <vector>

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Function.h"
#include "shadowstack/pass/source_parameters.h"

namespace recrash::pass {

struct ArgumentPlace {
  bool followed = false;  // debug information has its value wherever it is alive
  // It is stored before each of these; on no path twice. Empty: not stored.
  llvm::SmallVector<llvm::Instruction*, 1> before;
};

// One entry an argument. Of `copied` ones fields are copied as well, where they are stored: before the first write to
// memory; all of them at the same places.
std::vector<ArgumentPlace> PlaceArguments(llvm::Function& function, const std::vector<SourceParameter>& sources,
                                          const std::vector<bool>& copied);

// Behind the allocas, and at -O0 behind the stores that give each parameter its home: our copies of fields carry the
// source line of the access, and the debugger takes the first line it meets for the end of the prologue.
llvm::Instruction* HeadOf(llvm::Function& function);

}  // namespace recrash::pass

#endif  // RECRASH_SHADOWSTACK_PASS_PLACEMENT_H_
