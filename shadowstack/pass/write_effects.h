// Finds what a function may write, itself or in its callees, as far as the module shows.
#ifndef RECRASH_SHADOWSTACK_PASS_WRITE_EFFECTS_H_
#define RECRASH_SHADOWSTACK_PASS_WRITE_EFFECTS_H_

#include <memory>
#include <vector>

#include "llvm/ADT/DenseMap.h"
#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/CallGraph.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Analysis/TypeBasedAliasAnalysis.h"
#include "llvm/IR/Module.h"

namespace recrash::pass {

// Transitive over the call graph of the module: of a translation unit, or at link time of the program. Two places are
// told apart by the types of the source (TBAA), never by what they point to.
class WriteEffects {
 public:
  explicit WriteEffects(llvm::Module& module);

  // May the function, or the instruction, write what `access` loads or stores?
  bool MayWrite(const llvm::Function& function, const llvm::Instruction& access);
  bool MayWrite(const llvm::Instruction& writer, const llvm::Instruction& access);

 private:
  // All writes of a function, one of each type.
  struct Effects {
    bool anything = false;
    std::vector<llvm::MemoryLocation> writes;
  };

  Effects Of(const llvm::Instruction& instruction) const;
  void Visit(const std::vector<llvm::CallGraphNode*>& cycle);
  bool MayTouch(const Effects& effects, const llvm::Instruction& access);
  static void Add(const Effects& more, Effects& effects);

  llvm::DenseMap<const llvm::Function*, Effects> effects_;
  llvm::TargetLibraryInfoImpl library_impl_;
  llvm::TargetLibraryInfo library_;
  llvm::TypeBasedAAResult types_;
  llvm::AAResults aliases_;
};

}  // namespace recrash::pass

#endif  // RECRASH_SHADOWSTACK_PASS_WRITE_EFFECTS_H_
