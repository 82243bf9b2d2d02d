#include "shadowstack/pass/liveness.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

namespace recrash::pass {
namespace {

bool HasConstantOffset(const llvm::GetElementPtrInst& gep) {
  llvm::APInt offset(64, 0);
  return gep.accumulateConstantOffset(gep.getModule()->getDataLayout(), offset);
}

// In a loop only what needs the argument as it is: other arithmetic on it may become an induction variable.
bool Counts(const llvm::Instruction& user, const llvm::LoopInfo& loops) {
  if (llvm::isa<llvm::LoadInst>(user) || llvm::isa<llvm::StoreInst>(user)) return true;
  if (const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&user)) {
    if (intrinsic->isAssumeLikeIntrinsic()) return false;
  }
  return llvm::isa<llvm::CallBase>(user) || loops.getLoopFor(user.getParent()) == nullptr;
}

}  // namespace

Liveness::Liveness(const llvm::Argument& argument, const llvm::LoopInfo& loops) {
  Visit(argument, loops);
  llvm::SmallVector<const llvm::BasicBlock*, 16> pending;
  llvm::SmallPtrSet<const llvm::BasicBlock*, 16> live_in;
  for (const llvm::Instruction* use : uses_)
    if (live_in.insert(use->getParent()).second) pending.push_back(use->getParent());
  while (!pending.empty()) {
    for (const llvm::BasicBlock* before : llvm::predecessors(pending.pop_back_val())) {
      live_out_.insert(before);
      if (live_in.insert(before).second) pending.push_back(before);
    }
  }
}

void Liveness::Visit(const llvm::Value& value, const llvm::LoopInfo& loops) {
  for (const llvm::Use& use : value.uses()) {
    const auto* user = llvm::cast<llvm::Instruction>(use.getUser());
    if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(user)) {
      const llvm::Instruction* end = phi->getIncomingBlock(use)->getTerminator();
      if (loops.getLoopFor(end->getParent()) == nullptr) uses_.insert(end);
      continue;
    }
    const auto* gep = llvm::dyn_cast<llvm::GetElementPtrInst>(user);
    if (gep && use.getOperandNo() == 0 && HasConstantOffset(*gep)) {
      // Folded into the loads and stores at this address, wherever they are.
      for (const llvm::User* memory : gep->users())
        if (llvm::getLoadStorePointerOperand(memory) == gep) uses_.insert(llvm::cast<llvm::Instruction>(memory));
    }
    if (Counts(*user, loops)) uses_.insert(user);
  }
}

}  // namespace recrash::pass
