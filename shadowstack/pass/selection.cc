#include "shadowstack/pass/selection.h"

#include <optional>

#include "llvm/IR/DataLayout.h"
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

bool IsSupportedConvention(llvm::CallingConv::ID convention) {
  switch (convention) {
    case llvm::CallingConv::C:
    case llvm::CallingConv::Fast:
    case llvm::CallingConv::Cold:
    case llvm::CallingConv::PreserveMost:
    case llvm::CallingConv::PreserveAll:
    case llvm::CallingConv::X86_64_SysV:
      return true;
    default:
      return false;
  }
}

// Both move locals whose address is taken into memory of their own, found through a register that is gone later.
// AddressSanitizer does so without optimisation only; there DWARF says all.
bool WouldMoveTheRecord(const llvm::Function& function) {
  return function.hasFnAttribute(llvm::Attribute::SafeStack) ||
         (function.hasFnAttribute(llvm::Attribute::SanitizeAddress) && function.hasOptNone());
}

// Thunks only adjust `this` and jump; the target has the record. __clang_call_terminate runs when all is over.
bool IsCompilerMade(llvm::StringRef name) {
  for (const char* prefix : {"llvm.", "__recrash", "_GLOBAL__", "__cxx_global_", "__clang_call_terminate", "_ZTh",
                             "_ZTv", "_ZTc", "_ZTW", "_ZTH", "asan.module", "tsan.module", "__odr_asan"})
    if (name.starts_with(prefix)) return true;
  return false;
}

// Why the function cannot have what the mode adds, whoever asks for it.
std::optional<Reason> Obstacle(const llvm::Function& function, const Options& options) {
  if (IsCompilerMade(function.getName())) return Reason::kCompilerMade;
  // Without arguments there is nothing to record; entered with a state it is all the same.
  if (function.arg_empty() && !HasPatchableEntries(options.mode)) return Reason::kNoArguments;
  if (!IsSupportedConvention(function.getCallingConv())) return Reason::kConvention;
  if (function.hasFnAttribute(llvm::Attribute::Naked)) return Reason::kNaked;
  if (function.isPresplitCoroutine()) return Reason::kNotSplit;
  if (WouldMoveTheRecord(function)) return Reason::kMovedLocals;
  return std::nullopt;
}

}  // namespace

bool IsStandardLibrary(llvm::StringRef name) {
  if (!name.consume_front("_Z")) return false;
  while (name.consume_front("Z")) {  // local to a function: _ZZ<function>E<name>
  }
  if (name.consume_front("N")) {
    name = name.ltrim("rVK");
    if (name.starts_with("R") || name.starts_with("O")) name = name.drop_front();
  }
  if (name.starts_with("9__gnu_cxx") || name.starts_with("10__cxxabiv1")) return true;
  // St is std::, the others are std:: classes with a substitution of their own: allocator, basic_string, string,
  // streams.
  return name.size() >= 2 && name[0] == 'S' && llvm::StringRef("tabsiod").contains(name[1]);
}

bool CanFail(const llvm::Function& function) {
  const llvm::DataLayout& layout = function.getParent()->getDataLayout();
  for (const llvm::Instruction& instruction : llvm::instructions(function))
    if (CanFail(instruction, layout)) return true;
  return false;
}

const char* ReasonText(Reason reason) {
  switch (reason) {
    case Reason::kCanFail:
      return "can fail";
    case Reason::kAlways:
      return "always";
    case Reason::kNever:
      return "never";
    case Reason::kCannotFail:
      return "calls nothing and cannot fault";
    case Reason::kStandardLibrary:
      return "namespace std";
    case Reason::kNoArguments:
      return "has no arguments";
    case Reason::kUsesNoArgument:
      return "uses none of its arguments";
    case Reason::kConvention:
      return "calling convention";
    case Reason::kNaked:
      return "naked";
    case Reason::kNotSplit:
      return "coroutine that is not split yet";
    case Reason::kMovedLocals:
      return "a sanitizer moves its locals";
    case Reason::kCompilerMade:
      return "made by the compiler";
    case Reason::kNoPrefix:
      return "has a prefix of its own";
  }
  return "";
}

Choice Choose(const llvm::Function& function, const Options& options, const Wish& wish) {
  const auto left_out = [](Reason reason) { return Choice{false, reason, "", 0}; };
  if (wish.monitored == false) return Choice{false, Reason::kNever, wish.by, 0};
  if (const std::optional<Reason> obstacle = Obstacle(function, options)) return left_out(*obstacle);
  const int depth = options.mode == Mode::kFull ? wish.depth.value_or(options.depth) : 0;
  if (wish.monitored == true) return Choice{true, Reason::kAlways, wish.by, depth};
  if (!options.std_functions && IsStandardLibrary(function.getName())) return left_out(Reason::kStandardLibrary);
  if (!CanFail(function)) return left_out(Reason::kCannotFail);
  return Choice{true, Reason::kCanFail, "", depth};
}

}  // namespace recrash::pass
