#include "shadowstack/pass/write_effects.h"

#include "llvm/ADT/SCCIterator.h"
#include "llvm/Analysis/MemoryBuiltins.h"
#include "llvm/Analysis/MemoryLocation.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/TargetParser/Triple.h"

namespace recrash::pass {
namespace {

constexpr size_t kMostWrites = 64;  // of one function; more count as anything

#if LLVM_VERSION_MAJOR >= 21
llvm::TypeBasedAAResult TypesOnly() { return llvm::TypeBasedAAResult(/*UsingTypeSanitizer=*/false); }
#else
llvm::TypeBasedAAResult TypesOnly() { return llvm::TypeBasedAAResult(); }
#endif

// Locals of the function itself, and what it has just allocated, are not what its parameters point to.
bool IsOwn(const llvm::Value* pointer) {
  const llvm::Value* object = llvm::getUnderlyingObject(pointer);
  return llvm::isa<llvm::AllocaInst>(object) || llvm::isNoAliasCall(object);
}

bool WritesOwnOnly(const llvm::CallBase& call) {
  if (!call.onlyAccessesArgMemory()) return false;
  for (const llvm::Use& argument : call.args())
    if (argument->getType()->isPointerTy() && !call.onlyReadsMemory(call.getArgOperandNo(&argument)) &&
        !IsOwn(argument))
      return false;
  return true;
}

// What it throws away, or ends in, is not seen by the frame any more; an allocator does not write the program's
// objects.
bool WritesNothing(const llvm::CallBase& call, const llvm::TargetLibraryInfo& library) {
  if (call.doesNotReturn() || llvm::isAllocationFn(&call, &library) || llvm::getFreedOperand(&call, &library))
    return true;
  if (const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&call))
    if (intrinsic->isAssumeLikeIntrinsic()) return true;
  return call.onlyReadsMemory() || call.onlyAccessesInaccessibleMemory() || WritesOwnOnly(call);
}

}  // namespace

WriteEffects::WriteEffects(llvm::Module& module)
    : library_impl_(llvm::Triple(module.getTargetTriple())),
      library_(library_impl_),
      types_(TypesOnly()),
      aliases_(library_) {
  aliases_.addAAResult(types_);
  llvm::CallGraph graph(module);
  for (auto cycle = llvm::scc_begin(&graph); !cycle.isAtEnd(); ++cycle) Visit(*cycle);
}

void WriteEffects::Visit(const std::vector<llvm::CallGraphNode*>& cycle) {
  // Functions that call one another write the same. Calls inside find nothing in the map yet, which adds nothing.
  Effects together;
  for (const llvm::CallGraphNode* node : cycle)
    if (const llvm::Function* function = node->getFunction()) effects_[function] = {};
  for (const llvm::CallGraphNode* node : cycle) {
    const llvm::Function* function = node->getFunction();
    if (!function || function->isDeclaration()) continue;
    for (const llvm::Instruction& instruction : llvm::instructions(*function))
      if (instruction.mayWriteToMemory() && !together.anything) Add(Of(instruction), together);
  }
  for (const llvm::CallGraphNode* node : cycle)
    if (const llvm::Function* function = node->getFunction()) effects_[function] = together;
}

WriteEffects::Effects WriteEffects::Of(const llvm::Instruction& instruction) const {
  if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) {
    if (WritesNothing(*call, library_)) return {};
    const llvm::Function* callee = call->getCalledFunction();
    if (!callee || callee->isDeclaration() || callee->isInterposable()) return {true, {}};
    const auto known = effects_.find(callee);
    return known == effects_.end() ? Effects{true, {}} : known->second;
  }
  const std::optional<llvm::MemoryLocation> place = llvm::MemoryLocation::getOrNone(&instruction);
  if (!place || !place->Ptr) return {true, {}};
  if (IsOwn(place->Ptr)) return {};
  if (!place->AATags.TBAA) return {true, {}};
  return {false, {*place}};
}

void WriteEffects::Add(const Effects& more, Effects& effects) {
  effects.anything |= more.anything;
  for (const llvm::MemoryLocation& write : more.writes)
    if (llvm::none_of(effects.writes,
                      [&](const llvm::MemoryLocation& known) { return known.AATags.TBAA == write.AATags.TBAA; }))
      effects.writes.push_back(write);
  if (effects.writes.size() > kMostWrites) effects.anything = true;
  if (effects.anything) effects.writes.clear();
}

bool WriteEffects::MayTouch(const Effects& effects, const llvm::Instruction& access) {
  if (effects.anything) return true;
  const llvm::MemoryLocation place = llvm::MemoryLocation::get(&access);
  return llvm::any_of(effects.writes, [&](const llvm::MemoryLocation& write) {
    return aliases_.alias(write, place) != llvm::AliasResult::NoAlias;
  });
}

bool WriteEffects::MayWrite(const llvm::Function& function, const llvm::Instruction& access) {
  const auto known = effects_.find(&function);
  return known == effects_.end() || MayTouch(known->second, access);
}

bool WriteEffects::MayWrite(const llvm::Instruction& writer, const llvm::Instruction& access) {
  return writer.mayWriteToMemory() && MayTouch(Of(writer), access);
}

}  // namespace recrash::pass
