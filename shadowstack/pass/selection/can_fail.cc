#include "shadowstack/pass/selection/can_fail.h"

#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

namespace recrash::pass {
namespace {

// Inside a variable of known size at a constant place. A reference parameter is not enough, though LLVM calls it
// dereferenceable: in a program with a bug it may be null.
bool IsCertainlyMapped(const llvm::Value* pointer, llvm::TypeSize size, const llvm::DataLayout& layout) {
  llvm::APInt offset(layout.getIndexTypeSizeInBits(pointer->getType()), 0);
  const llvm::Value* base = pointer->stripAndAccumulateConstantOffsets(layout, offset, /*AllowNonInbounds=*/true);
  llvm::Type* type = nullptr;
  if (const auto* variable = llvm::dyn_cast<llvm::AllocaInst>(base)) {
    if (variable->isStaticAlloca() && !variable->isArrayAllocation()) type = variable->getAllocatedType();
  } else if (const auto* global = llvm::dyn_cast<llvm::GlobalVariable>(base)) {
    if (!global->hasExternalWeakLinkage()) type = global->getValueType();
  } else if (const auto* argument = llvm::dyn_cast<llvm::Argument>(base)) {
    if (argument->hasByValAttr()) type = argument->getParamByValType();
  }
  if (!type || !type->isSized() || size.isScalable()) return false;
  const uint64_t end = layout.getTypeAllocSize(type).getFixedValue();
  return !offset.isNegative() && offset.ule(end) && size.getFixedValue() <= end - offset.getZExtValue();
}

}  // namespace

bool CanFail(const llvm::Instruction& instruction, const llvm::DataLayout& layout) {
  if (instruction.isLifetimeStartOrEnd() || instruction.isDebugOrPseudoInst()) return false;
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction))
    return !IsCertainlyMapped(load->getPointerOperand(), layout.getTypeStoreSize(load->getType()), layout);
  if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction))
    return !IsCertainlyMapped(store->getPointerOperand(), layout.getTypeStoreSize(store->getValueOperand()->getType()),
                              layout);
  switch (instruction.getOpcode()) {
    case llvm::Instruction::UDiv:
    case llvm::Instruction::SDiv:
    case llvm::Instruction::URem:
    case llvm::Instruction::SRem:
    case llvm::Instruction::Unreachable:
      return true;
    case llvm::Instruction::Call:
    case llvm::Instruction::Invoke:
    case llvm::Instruction::CallBr:
      // Among intrinsics without memory effects llvm.trap is marked as having them, so the question below is enough.
      return !llvm::isa<llvm::IntrinsicInst>(instruction) || instruction.mayReadOrWriteMemory();
    default:
      return instruction.mayReadOrWriteMemory();
  }
}

bool CanFail(const llvm::Function& function) {
  const llvm::DataLayout& layout = function.getParent()->getDataLayout();
  for (const llvm::Instruction& instruction : llvm::instructions(function))
    if (CanFail(instruction, layout)) return true;
  return false;
}

}  // namespace recrash::pass
