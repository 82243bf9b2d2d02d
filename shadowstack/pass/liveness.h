// Finds where an argument that never changes is certainly still in a register or a stack slot of the frame.
#ifndef RECRASH_SHADOWSTACK_PASS_LIVENESS_H_
#define RECRASH_SHADOWSTACK_PASS_LIVENESS_H_

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Function.h"

namespace recrash::pass {

// The backend may still rewrite what the IR shows (loop strength reduction replaces indices by pointers), so only uses
// that it leaves alone count.
class Liveness {
 public:
  Liveness(const llvm::Argument& argument, const llvm::LoopInfo& loops);

  bool IsLiveOut(const llvm::BasicBlock& block) const { return live_out_.contains(&block); }
  // The instruction itself needs the argument, so it is at hand when the instruction faults.
  bool IsUsedBy(const llvm::Instruction& instruction) const { return uses_.contains(&instruction); }

 private:
  void Visit(const llvm::Value& value, const llvm::LoopInfo& loops);

  llvm::SmallPtrSet<const llvm::Instruction*, 16> uses_;
  llvm::SmallPtrSet<const llvm::BasicBlock*, 16> live_out_;
};

}  // namespace recrash::pass

#endif  // RECRASH_SHADOWSTACK_PASS_LIVENESS_H_
