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

// The widest at its offset that cannot fault at the entry, unless the function would.
struct Access {
  uint32_t size = 0;
  const llvm::Instruction* instruction = nullptr;
  llvm::LoadInst* load = nullptr;  // of this size, before anything is written
};

using Accesses = std::map<uint32_t, Access>;  // by offset

// The variable that clang keeps a parameter in at -O0: written once, with the argument, and else only read.
llvm::AllocaInst* HomeOf(llvm::StoreInst& store) {
  auto* home = llvm::dyn_cast<llvm::AllocaInst>(store.getPointerOperand());
  if (!home) return nullptr;
  for (const llvm::User* user : home->users())
    if (user != &store && !llvm::isa<llvm::LoadInst>(user)) return nullptr;
  return home;
}

// Not locals of the function's own: what a parameter pointed to on entry is none of them.
bool MayWriteObjects(const llvm::Instruction& instruction) {
  if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction))
    return !llvm::isa<llvm::AllocaInst>(llvm::getUnderlyingObject(store->getPointerOperand()));
  return instruction.mayWriteToMemory() && !instruction.isLifetimeStartOrEnd();
}

// What runs for certain once the function was entered: a copy there faults only where the function would.
class CertainCode {
 public:
  explicit CertainCode(const llvm::Function& function) {
    for (const llvm::Instruction& instruction : function.getEntryBlock()) {
      certain_.insert(&instruction);
      if (MayWriteObjects(instruction)) written_ = true;
      if (!written_) before_writes_.insert(&instruction);
      if (!llvm::isGuaranteedToTransferExecutionToSuccessor(&instruction)) break;
    }
  }

  bool Runs(const llvm::Instruction& instruction) const { return certain_.count(&instruction) != 0; }
  // And nothing has been written by then, so that it finds what a load at the entry finds.
  bool RunsBeforeWrites(const llvm::Instruction& instruction) const { return before_writes_.count(&instruction) != 0; }

 private:
  std::set<const llvm::Instruction*> certain_;
  std::set<const llvm::Instruction*> before_writes_;
  bool written_ = false;
};

// What is loaded and stored at constant offsets from one pointer.
class Finder {
 public:
  Finder(const llvm::DataLayout& layout, const CertainCode& code, uint64_t dereferenceable)
      : layout_(layout), code_(code), dereferenceable_(dereferenceable) {}

  Accesses Run(llvm::Value& pointer) {
    Visit(&pointer, 0);
    return std::move(accesses_);
  }

 private:
  void Visit(llvm::Value* pointer, uint32_t offset) {
    if (!visited_.insert(pointer).second) return;
    for (llvm::User* user : pointer->users()) {
      if (auto* gep = llvm::dyn_cast<llvm::GetElementPtrInst>(user)) {
        llvm::APInt step(64, 0);
        if (gep->getPointerOperand() != pointer || !gep->accumulateConstantOffset(layout_, step)) continue;
        const int64_t target = static_cast<int64_t>(offset) + step.getSExtValue();
        if (target >= 0 && target <= UINT16_MAX) Visit(gep, static_cast<uint32_t>(target));
      } else if (auto* load = llvm::dyn_cast<llvm::LoadInst>(user)) {
        if (!load->isAtomic()) Note(*load, load->getType(), offset);
      } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(user)) {
        if (store->getPointerOperand() == pointer) {
          if (!store->isAtomic()) Note(*store, store->getValueOperand()->getType(), offset);
        } else if (llvm::AllocaInst* home = HomeOf(*store)) {
          for (llvm::User* reader : home->users())
            if (llvm::isa<llvm::LoadInst>(reader)) Visit(reader, offset);
        }
      }
    }
  }

  void Note(llvm::Instruction& instruction, llvm::Type* type, uint32_t offset) {
    if (instruction.isVolatile()) return;  // a device, perhaps
    const llvm::TypeSize type_size = layout_.getTypeStoreSize(type);
    if (type_size.isScalable()) return;
    const uint64_t size = type_size.getFixedValue();
    if (size != 1 && size != 2 && size != 4 && size != 8 && size != 16) return;
    if (offset + size > UINT16_MAX) return;
    if (offset + size > dereferenceable_ && !code_.Runs(instruction)) return;
    Access& access = accesses_[offset];
    if (size > access.size) access = {static_cast<uint32_t>(size), &instruction, nullptr};
    auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
    if (load && size == access.size && code_.RunsBeforeWrites(*load)) {
      access.instruction = load;
      access.load = load;
    }
  }

  const llvm::DataLayout& layout_;
  const CertainCode& code_;
  const uint64_t dereferenceable_;
  std::set<const llvm::Value*> visited_;
  Accesses accesses_;
};

class FieldCollector {
 public:
  FieldCollector(llvm::Argument& argument, int depth, WriteEffects& effects)
      : argument_(argument),
        function_(*argument.getParent()),
        layout_(function_.getParent()->getDataLayout()),
        code_(function_),
        depth_(depth),
        effects_(effects) {}

  std::vector<Field> Run() {
    const Accesses accesses = Finder(layout_, code_, argument_.getDereferenceableBytes()).Run(argument_);
    uint32_t end = 0;
    for (const auto& [offset, access] : accesses) {
      const std::vector<Field> deeper = depth_ > 1 ? Through(offset, access) : std::vector<Field>();
      const bool needed = !deeper.empty() || effects_.MayWrite(function_, *access.instruction);
      if (!needed || offset + access.size <= end || !HasRoomFor(access.size)) continue;
      Add({offset, access.size, access.instruction, access.load});
      end = offset + access.size;
      for (const Field& field : deeper)
        if (HasRoomFor(field.size)) Add(field);
    }
    return std::move(fields_);
  }

 private:
  // The pointer has to be loaded before anything is written: at the entry it is then the same.
  std::vector<Field> Through(uint32_t via, const Access& access) {
    std::vector<Field> deeper;
    if (!access.load || !access.load->getType()->isPointerTy()) return deeper;
    uint32_t end = 0;
    for (const auto& [offset, target] : Finder(layout_, code_, 0).Run(*access.load)) {
      if (offset + target.size <= end || !effects_.MayWrite(function_, *target.instruction)) continue;
      deeper.push_back({offset, target.size, target.instruction, target.load, via});
      end = offset + target.size;
    }
    return deeper;
  }

  bool HasRoomFor(uint32_t size) const { return total_ + size <= kMaxBytes; }

  void Add(const Field& field) {
    fields_.push_back(field);
    total_ += field.size;
  }

  llvm::Argument& argument_;
  const llvm::Function& function_;
  const llvm::DataLayout& layout_;
  const CertainCode code_;
  const int depth_;
  WriteEffects& effects_;
  std::vector<Field> fields_;
  uint32_t total_ = 0;
};

}  // namespace

std::vector<Field> FindUsedFields(llvm::Argument& argument, const SourceParameter& parameter, int depth,
                                  WriteEffects& effects) {
  if (!argument.getType()->isPointerTy() || argument.hasByValAttr() || argument.hasStructRetAttr()) return {};
  if (argument.onlyReadsMemory() || PointsToConst(parameter)) return {};
  return FieldCollector(argument, depth, effects).Run();
}

}  // namespace recrash::pass
