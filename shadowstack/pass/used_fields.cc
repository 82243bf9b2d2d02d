// Copying whatever each pointer points to cost 20-59 % of instructions; the used fields alone 0.5-1.7 % on top of the
// argument words, once what is read-only was left out (it took yaml-cpp from +25.5 % to +5.8 %). Leaving it out is
// unsound under `mutable` and aliasing, so it loses copies, never the words.
#include "shadowstack/pass/used_fields.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

namespace recrash::pass {
namespace {

constexpr uint32_t kMaxBytes = 64;  // copied of one parameter

struct Access {
  uint32_t size = 0;
  bool safe = false;
  const llvm::Instruction* instruction = nullptr;
};

using Accesses = std::map<uint32_t, Access>;  // by offset

// The variable that clang keeps a parameter in at -O0: written once, with the argument, and else only read.
const llvm::AllocaInst* HomeOf(const llvm::StoreInst& store) {
  const auto* home = llvm::dyn_cast<llvm::AllocaInst>(store.getPointerOperand());
  if (!home) return nullptr;
  for (const llvm::User* user : home->users())
    if (user != &store && !llvm::isa<llvm::LoadInst>(user)) return nullptr;
  return home;
}

class Finder {
 public:
  Finder(const llvm::Argument& argument)
      : argument_(argument),
        function_(*argument.getParent()),
        layout_(function_.getParent()->getDataLayout()),
        dereferenceable_(argument.getDereferenceableBytes()) {
    // What runs for certain once the function was entered: a copy there faults only where the function would.
    for (const llvm::Instruction& instruction : function_.getEntryBlock()) {
      certain_.insert(&instruction);
      if (!llvm::isGuaranteedToTransferExecutionToSuccessor(&instruction)) break;
    }
  }

  std::vector<Field> Run() {
    Visit(&argument_, 0);
    std::vector<Field> fields;
    uint32_t total = 0, end = 0;
    for (const auto& [offset, access] : accesses_) {
      if (!access.safe || offset + access.size <= end) continue;  // inside the one before
      if (total + access.size > kMaxBytes) break;
      fields.push_back({offset, access.size, access.instruction});
      total += access.size;
      end = offset + access.size;
    }
    return fields;
  }

 private:
  void Visit(const llvm::Value* pointer, uint32_t offset) {
    if (!visited_.insert(pointer).second) return;
    for (const llvm::User* user : pointer->users()) {
      if (const auto* gep = llvm::dyn_cast<llvm::GetElementPtrInst>(user)) {
        llvm::APInt step(64, 0);
        if (gep->getPointerOperand() != pointer || !gep->accumulateConstantOffset(layout_, step)) continue;
        const int64_t target = static_cast<int64_t>(offset) + step.getSExtValue();
        if (target >= 0 && target <= UINT16_MAX) Visit(gep, static_cast<uint32_t>(target));
      } else if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(user)) {
        if (!load->isAtomic()) Note(*load, load->getType(), offset);
      } else if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(user)) {
        if (store->getPointerOperand() == pointer) {
          if (!store->isAtomic()) Note(*store, store->getValueOperand()->getType(), offset);
        } else if (const llvm::AllocaInst* home = HomeOf(*store)) {
          for (const llvm::User* reader : home->users())
            if (llvm::isa<llvm::LoadInst>(reader)) Visit(reader, offset);
        }
      }
    }
  }

  void Note(const llvm::Instruction& instruction, llvm::Type* type, uint32_t offset) {
    if (instruction.isVolatile()) return;  // a device, perhaps
    const llvm::TypeSize type_size = layout_.getTypeStoreSize(type);
    if (type_size.isScalable()) return;
    const uint64_t size = type_size.getFixedValue();
    if (size != 1 && size != 2 && size != 4 && size != 8 && size != 16) return;
    if (offset + size > UINT16_MAX) return;
    Access& access = accesses_[offset];
    const bool safe = offset + size <= dereferenceable_ || certain_.count(&instruction);
    if (safe && (!access.safe || size > access.size)) {
      access.size = static_cast<uint32_t>(size);
      access.instruction = &instruction;
      access.safe = true;
    }
  }

  const llvm::Argument& argument_;
  const llvm::Function& function_;
  const llvm::DataLayout& layout_;
  const uint64_t dereferenceable_;
  std::set<const llvm::Instruction*> certain_;
  std::set<const llvm::Value*> visited_;
  Accesses accesses_;
};

}  // namespace

std::vector<Field> FindUsedFields(const llvm::Argument& argument, const SourceParameter& parameter) {
  if (!argument.getType()->isPointerTy() || argument.hasByValAttr() || argument.hasStructRetAttr()) return {};
  if (argument.onlyReadsMemory() || argument.getParent()->onlyReadsMemory() || PointsToConst(parameter)) return {};
  return Finder(argument).Run();
}

}  // namespace recrash::pass
