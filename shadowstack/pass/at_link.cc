#include "shadowstack/pass/at_link.h"

#include <iterator>
#include <string>

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

namespace recrash::pass {
namespace {

constexpr char kAttribute[] = "recrash-at-link";
constexpr char kSymbol[] = "__recrash_needs_lld_with_load_pass_plugin";
constexpr char kReference[] = "__recrash_at_link";  // the variable that names it; linking may add a number

// One field a line, in this order.
enum Field { kMode, kDepth, kStd, kMonitored, kReport, kBy, kFields };

void EraseUnused(llvm::GlobalVariable& variable) {
  variable.removeDeadConstantUsers();  // the lists of used variables as they were
  if (variable.use_empty()) variable.eraseFromParent();
}

}  // namespace

void Defer(llvm::Function& function, const Deferred& deferred) {
  const auto& [options, wish] = deferred;
  const std::string fields[kFields] = {TraitsOf(options.mode).name,
                                       llvm::itostr(wish.depth.value_or(options.depth)),
                                       options.std_functions ? "std" : "",
                                       wish.monitored ? (*wish.monitored ? "always" : "never") : "",
                                       options.report,
                                       wish.by};
  function.addFnAttr(kAttribute, llvm::join(std::begin(fields), std::end(fields), "\n"));
}

std::optional<Deferred> TakeDeferred(llvm::Function& function) {
  if (!function.hasFnAttribute(kAttribute)) return std::nullopt;
  llvm::SmallVector<llvm::StringRef, kFields> fields;
  function.getFnAttribute(kAttribute).getValueAsString().split(fields, '\n');
  function.removeFnAttr(kAttribute);
  if (fields.size() != kFields) return std::nullopt;
  Deferred deferred;
  if (const abi::ModeTraits* mode = abi::ModeNamed(fields[kMode])) deferred.options.mode = mode->mode;
  fields[kDepth].getAsInteger(10, deferred.options.depth);
  deferred.options.std_functions = !fields[kStd].empty();
  deferred.options.report = fields[kReport].str();
  Understand(fields[kMonitored], deferred.wish);
  deferred.wish.by = fields[kBy].str();
  return deferred;
}

void RequirePassAtLink(llvm::Module& module) {
  llvm::Type* byte = llvm::Type::getInt8Ty(module.getContext());
  llvm::Constant* symbol = module.getOrInsertGlobal(kSymbol, byte);
  auto* reference = new llvm::GlobalVariable(module, symbol->getType(), /*isConstant=*/true,
                                             llvm::GlobalValue::PrivateLinkage, symbol, kReference);
  llvm::appendToCompilerUsed(module, {reference});
}

void DropRequirement(llvm::Module& module) {
  llvm::GlobalVariable* symbol = module.getGlobalVariable(kSymbol);
  if (!symbol) return;
  llvm::removeFromUsedLists(
      module, [](llvm::Constant* used) { return used->stripPointerCasts()->getName().starts_with(kReference); });
  for (llvm::GlobalVariable& variable : llvm::make_early_inc_range(module.globals()))
    if (variable.getName().starts_with(kReference)) EraseUnused(variable);
  EraseUnused(*symbol);
}

}  // namespace recrash::pass
