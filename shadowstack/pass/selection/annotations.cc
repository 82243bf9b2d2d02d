// Done before the optimiser runs: the entries of llvm.global.annotations are uses of the functions. They keep a static
// function in the program after its last call was inlined, and its arguments from being promoted. An attribute does
// neither, and a copy that the optimiser makes of the function takes it along.
#include "shadowstack/pass/selection/annotations.h"

#include <vector>

#include "llvm/ADT/Twine.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/LLVMContext.h"

namespace recrash::pass {
namespace {

constexpr char kPrefix[] = "recrash::";
constexpr char kMonitored[] = "recrash-monitored";  // "never" or "always"
constexpr char kDepth[] = "recrash-depth";          // "depth=N"

// The fields of an entry: what is annotated, the text, its file and line, arguments.
enum Field { kSubject, kText, kFile, kLine };

llvm::StringRef Text(const llvm::Value* value) {
  const auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(value->stripPointerCasts());
  if (!variable || !variable->hasInitializer()) return "";
  const auto* data = llvm::dyn_cast<llvm::ConstantDataArray>(variable->getInitializer());
  return data && data->isCString() ? data->getAsCString() : "";
}

void Complain(const llvm::ConstantStruct& entry, llvm::StringRef text, const char* what) {
  const auto* line = llvm::dyn_cast<llvm::ConstantInt>(entry.getOperand(kLine));
  entry.getContext().emitError(llvm::Twine(Text(entry.getOperand(kFile))) + ":" +
                               llvm::Twine(line ? line->getZExtValue() : 0) + ": recrash: the annotation \"" + text +
                               "\" " + what);
}

void Apply(const llvm::ConstantStruct& entry, llvm::StringRef text) {
  auto* function = llvm::dyn_cast<llvm::Function>(entry.getOperand(kSubject)->stripPointerCasts());
  if (!function) return Complain(entry, text, "belongs on a function");
  const llvm::StringRef word = text.drop_front(sizeof kPrefix - 1);
  Wish wish;
  if (!Understand(word, wish)) {
    static const std::string complaint = std::string("is not understood; known are ") + kWishWords;
    return Complain(entry, text, complaint.c_str());
  }
  function->addFnAttr(wish.monitored ? kMonitored : kDepth, word);
}

}  // namespace

bool TurnAnnotationsIntoAttributes(llvm::Module& module) {
  llvm::GlobalVariable* annotations = module.getGlobalVariable("llvm.global.annotations");
  if (!annotations || !annotations->hasInitializer()) return false;
  const auto* entries = llvm::dyn_cast<llvm::ConstantArray>(annotations->getInitializer());
  if (!entries) return false;
  std::vector<llvm::Constant*> others;
  for (const llvm::Use& use : entries->operands()) {
    auto* entry = llvm::cast<llvm::Constant>(use.get());
    const auto* fields = llvm::dyn_cast<llvm::ConstantStruct>(entry);
    const llvm::StringRef text = fields && fields->getNumOperands() > kLine ? Text(fields->getOperand(kText)) : "";
    if (text.starts_with(kPrefix))
      Apply(*fields, text);
    else
      others.push_back(entry);
  }
  if (others.size() == entries->getNumOperands()) return false;
  if (!others.empty()) {
    auto* type = llvm::ArrayType::get(entries->getType()->getElementType(), others.size());
    auto* left = new llvm::GlobalVariable(module, type, annotations->isConstant(), annotations->getLinkage(),
                                          llvm::ConstantArray::get(type, others));
    left->setSection(annotations->getSection());
    left->takeName(annotations);
  }
  annotations->eraseFromParent();
  return true;
}

Wish AnnotatedWish(const llvm::Function& function) {
  Wish wish;
  for (const char* attribute : {kMonitored, kDepth})
    if (function.hasFnAttribute(attribute)) Understand(function.getFnAttribute(attribute).getValueAsString(), wish);
  if (wish.monitored) wish.by = "annotation";
  return wish;
}

}  // namespace recrash::pass
