#include "shadowstack/pass/selection.h"

#include "llvm/IR/Module.h"
#include "shadowstack/pass/can_fail.h"

namespace recrash::pass {
namespace {

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

bool ShouldInstrument(const llvm::Function& function, const Options& options) {
  if (function.isDeclaration() || function.hasAvailableExternallyLinkage()) return false;
  // Without arguments there is nothing to record; entered with a state it is all the same.
  if (function.arg_empty() && !HasPatchableEntries(options.mode)) return false;
  if (!IsSupportedConvention(function.getCallingConv())) return false;
  if (function.hasFnAttribute(llvm::Attribute::Naked) || function.isPresplitCoroutine()) return false;
  if (WouldMoveTheRecord(function)) return false;
  const llvm::StringRef name = function.getName();
  // Thunks only adjust `this` and jump; the target has the record. __clang_call_terminate runs when all is over.
  for (const char* prefix : {"llvm.", "__recrash", "_GLOBAL__", "__cxx_global_", "__clang_call_terminate", "_ZTh",
                             "_ZTv", "_ZTc", "_ZTW", "_ZTH", "asan.module", "tsan.module", "__odr_asan"})
    if (name.starts_with(prefix)) return false;
  if (!options.std_functions && IsStandardLibrary(name)) return false;
  return CanFail(function);
}

}  // namespace recrash::pass
