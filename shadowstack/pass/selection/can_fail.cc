#include "shadowstack/pass/selection/can_fail.h"

#include "llvm/IR/DataLayout.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

namespace recrash::pass {
namespace {

// True for a load or store inside a variable of known size at a constant place. A reference parameter is not enough,
// though LLVM calls it dereferenceable: in a program with a bug it may be null.
bool IsCertainlyMapped(const llvm::Instruction& access) {
  const llvm::DataLayout& layout = access.getModule()->getDataLayout();
  const llvm::Value* pointer = llvm::getLoadStorePointerOperand(&access);
  const llvm::TypeSize size = layout.getTypeStoreSize(access.getAccessType());
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

bool CanFail(const llvm::Instruction& instruction) {
  if (instruction.isLifetimeStartOrEnd() || instruction.isDebugOrPseudoInst()) return false;
  switch (instruction.getOpcode()) {
    case llvm::Instruction::Load:
    case llvm::Instruction::Store:
      return !IsCertainlyMapped(instruction);
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
  return llvm::any_of(llvm::instructions(function),
                      [](const llvm::Instruction& instruction) { return CanFail(instruction); });
}

}  // namespace recrash::pass
