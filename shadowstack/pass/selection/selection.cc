#include "shadowstack/pass/selection/selection.h"

#include <optional>

#include "llvm/IR/Module.h"
#include "shadowstack/pass/selection/can_fail.h"

namespace recrash::pass {
namespace {

bool IsSupportedConvention(llvm::CallingConv::ID convention) {
  namespace conventions = llvm::CallingConv;
  constexpr llvm::CallingConv::ID kSupported[] = {conventions::C,           conventions::Fast,
                                                  conventions::Cold,        conventions::PreserveMost,
                                                  conventions::PreserveAll, conventions::X86_64_SysV};
  return llvm::is_contained(kSupported, convention);
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
  if (IsCompilerMade(function.getName())) return kCompilerMade;
  // Without arguments there is nothing to record; entered with a state it is all the same.
  if (function.arg_empty() && !TraitsOf(options.mode).patchable) return kNoArguments;
  if (!IsSupportedConvention(function.getCallingConv())) return kConvention;
  if (function.hasFnAttribute(llvm::Attribute::Naked)) return kNaked;
  if (function.isPresplitCoroutine()) return kNotSplit;
  if (WouldMoveTheRecord(function)) return kMovedLocals;
  return std::nullopt;
}

// True for functions of `std::`, `__gnu_cxx::` and `__cxxabiv1::`, and what is local to them.
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

}  // namespace

Choice Choose(const llvm::Function& function, const Options& options, const Wish& wish) {
  const auto left_out = [](Reason reason) { return Choice{false, reason, "", 0}; };
  if (wish.monitored == false) return Choice{false, kNever, wish.by, 0};
  if (const std::optional<Reason> obstacle = Obstacle(function, options)) return left_out(*obstacle);
  const int depth = options.mode == Mode::kFull ? wish.depth.value_or(options.depth) : 0;
  if (wish.monitored == true) return Choice{true, kAlways, wish.by, depth};
  if (!options.std_functions && IsStandardLibrary(function.getName())) return left_out(kStandardLibrary);
  if (!CanFail(function)) return left_out(kCannotFail);
  return Choice{true, kCanFail, "", depth};
}

}  // namespace recrash::pass
