#include "shadowstack/pass/sensitive.h"

#include <optional>
#include <vector>

#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/DebugProgramInstruction.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/Transforms/Utils/EscapeEnumerator.h"
#include "shadowstack/abi.h"

namespace recrash::pass {
namespace {

constexpr char kText[] = "recrash::marked";

llvm::StringRef TextOf(const llvm::Value* value) {
  const auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(value->stripPointerCasts());
  if (!variable || !variable->hasInitializer()) return "";
  const auto* data = llvm::dyn_cast<llvm::ConstantDataArray>(variable->getInitializer());
  return data && data->isCString() ? data->getAsCString() : "";
}

bool IsOurs(const llvm::IntrinsicInst& call) {
  const llvm::Intrinsic::ID id = call.getIntrinsicID();
  return (id == llvm::Intrinsic::var_annotation || id == llvm::Intrinsic::ptr_annotation) &&
         TextOf(call.getArgOperand(1)) == kText;
}

void Complain(const llvm::IntrinsicInst& call, const char* what) {
  const auto* line = llvm::dyn_cast<llvm::ConstantInt>(call.getArgOperand(3));
  call.getContext().emitError(llvm::Twine(TextOf(call.getArgOperand(2))) + ":" +
                              llvm::Twine(line ? line->getZExtValue() : 0) + ": recrash: " + what);
}

const llvm::DIType* Stripped(const llvm::DIType* type) {
  while (const auto* derived = llvm::dyn_cast_or_null<llvm::DIDerivedType>(type)) {
    switch (derived->getTag()) {
      case llvm::dwarf::DW_TAG_typedef:
      case llvm::dwarf::DW_TAG_const_type:
      case llvm::dwarf::DW_TAG_volatile_type:
      case llvm::dwarf::DW_TAG_restrict_type:
        type = derived->getBaseType();
        continue;
      default:
        return type;
    }
  }
  return type;
}

bool IsChar(const llvm::DIType* type) {
  const auto* basic = llvm::dyn_cast_or_null<llvm::DIBasicType>(type);
  return basic && basic->getSizeInBits() == 8 && basic->getEncoding() != llvm::dwarf::DW_ATE_boolean;
}

// Where a value of the type is, as MarkedValue::size has it, given the address of its variable.
std::optional<uint64_t> PlaceOf(const llvm::DIType* type) {
  const bool is_class = type && (type->getTag() == llvm::dwarf::DW_TAG_class_type ||
                                 type->getTag() == llvm::dwarf::DW_TAG_structure_type);
  if (is_class && type->getName().starts_with("basic_string<char,")) {
    const auto* composite = llvm::dyn_cast<llvm::DICompositeType>(type);
    if (!composite || !composite->getIdentifier().contains("__cxx11")) return std::nullopt;
    return abi::kMarkedString | 64;
  }
  if (const auto* derived = llvm::dyn_cast_or_null<llvm::DIDerivedType>(type)) {
    const llvm::DIType* target = Stripped(derived->getBaseType());
    if (derived->getTag() == llvm::dwarf::DW_TAG_pointer_type && IsChar(target))
      return abi::kMarkedThroughPointer | abi::kMarkedText | abi::kMostMarkedText;
    const std::optional<uint64_t> place =
        llvm::isa_and_nonnull<llvm::DIDerivedType>(target) ? std::nullopt : PlaceOf(target);
    if (!place || *place & abi::kMarkedThroughPointer) return std::nullopt;
    return abi::kMarkedThroughPointer | *place;
  }
  // What has a constructor or a destructor may own memory elsewhere.
  if (!type || (type->getFlags() & llvm::DINode::FlagNonTrivial)) return std::nullopt;
  const uint64_t size = type->getSizeInBits() / 8;
  return size == 0 || size > abi::kMarkedSize ? std::nullopt : std::optional(size);
}

// A std::string that is handed on by its address: debug information knows the variable that the address was put into.
const llvm::Value* DescribedPlaceOf(const llvm::Value* variable) {
  if (!llvm::isa<llvm::Argument>(variable)) return variable;
  for (const llvm::User* user : variable->users()) {
    const auto* store = llvm::dyn_cast<llvm::StoreInst>(user);
    if (store && store->getValueOperand() == variable && llvm::isa<llvm::AllocaInst>(store->getPointerOperand()))
      return store->getPointerOperand();
  }
  return variable;
}

// With optimisation, declarations have become assignments by now.
const llvm::DIType* TypeOf(const llvm::Value* variable, llvm::Function& function) {
  const llvm::Value* place = DescribedPlaceOf(variable);
  const auto is_of = [&](const llvm::Value* address) { return address && (address == variable || address == place); };
  for (llvm::BasicBlock& block : function) {
    for (llvm::Instruction& instruction : block) {
      if (const auto* declare = llvm::dyn_cast<llvm::DbgDeclareInst>(&instruction))
        if (is_of(declare->getAddress())) return declare->getVariable()->getType();
      if (const auto* assign = llvm::dyn_cast<llvm::DbgAssignIntrinsic>(&instruction))
        if (is_of(assign->getAddress())) return assign->getVariable()->getType();
      for (llvm::DbgVariableRecord& record : llvm::filterDbgVars(instruction.getDbgRecordRange()))
        if ((record.isDbgDeclare() || record.isDbgAssign()) && is_of(record.getAddress()))
          return record.getVariable()->getType();
    }
  }
  return nullptr;
}

// Declared weak: nothing happens in a program without the client.
void CallIfThere(llvm::IRBuilder<>& builder, const char* name, llvm::ArrayRef<llvm::Value*> arguments) {
  llvm::Module& module = *builder.GetInsertBlock()->getModule();
  std::vector<llvm::Type*> types;
  for (llvm::Value* argument : arguments) types.push_back(argument->getType());
  const std::string helper_name = std::string(name) + "_variable";
  llvm::Function* helper = module.getFunction(helper_name);
  if (!helper) {
    auto* type = llvm::FunctionType::get(builder.getVoidTy(), types, false);
    helper = llvm::Function::Create(type, llvm::GlobalValue::LinkOnceODRLinkage, helper_name, module);
    helper->setVisibility(llvm::GlobalValue::HiddenVisibility);
    helper->addFnAttr(llvm::Attribute::NoUnwind);
    helper->addFnAttr(llvm::Attribute::NoInline);
    helper->addFnAttr("recrash-monitored", "never");
    llvm::FunctionCallee callee = module.getOrInsertFunction(name, type);
    auto* target = llvm::cast<llvm::Function>(callee.getCallee());
    if (target->isDeclaration()) target->setLinkage(llvm::GlobalValue::ExternalWeakLinkage);
    auto* entry = llvm::BasicBlock::Create(module.getContext(), "", helper);
    auto* call = llvm::BasicBlock::Create(module.getContext(), "", helper);
    auto* done = llvm::BasicBlock::Create(module.getContext(), "", helper);
    llvm::IRBuilder<> inside(entry);
    inside.CreateCondBr(inside.CreateIsNotNull(target), call, done);
    inside.SetInsertPoint(call);
    std::vector<llvm::Value*> given;
    for (llvm::Argument& argument : helper->args()) given.push_back(&argument);
    inside.CreateCall(callee, given)->setDoesNotThrow();
    inside.CreateBr(done);
    inside.SetInsertPoint(done);
    inside.CreateRetVoid();
  }
  builder.CreateCall(helper, arguments)->setDoesNotThrow();
}

struct Marked {
  llvm::IntrinsicInst* annotation;
  llvm::Value* variable;
  uint64_t place;
};

// Nothing: an error was reported.
std::optional<Marked> Understand(llvm::IntrinsicInst* call) {
  if (call->getIntrinsicID() == llvm::Intrinsic::ptr_annotation) {
    Complain(*call, "a member cannot be marked by RECRASH_MARKED: give it the type recrash::Sensitive");
    return std::nullopt;
  }
  llvm::Value* variable = call->getArgOperand(0)->stripPointerCasts();
  const auto* room = llvm::dyn_cast<llvm::AllocaInst>(variable);
  if (!llvm::isa<llvm::Argument>(variable) && !(room && room->isStaticAlloca())) {
    Complain(*call, "a variable of this kind cannot be marked by RECRASH_MARKED: use RECRASH_SENSITIVE");
    return std::nullopt;
  }
  const llvm::DIType* type = Stripped(TypeOf(variable, *call->getFunction()));
  const std::optional<uint64_t> place = PlaceOf(type);
  if (!place) {
    Complain(*call, type ? "a variable of this type cannot be marked by RECRASH_MARKED: use recrash::Sensitive"
                         : "RECRASH_MARKED needs debug information: compile with -g");
    return std::nullopt;
  }
  return Marked{call, variable, *place};
}

bool MarkIn(llvm::Function& function) {
  std::vector<llvm::IntrinsicInst*> calls;
  for (llvm::BasicBlock& block : function)
    for (llvm::Instruction& instruction : block)
      if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction); call && IsOurs(*call)) calls.push_back(call);
  std::vector<llvm::Value*> variables;
  for (llvm::IntrinsicInst* call : calls) {
    if (const std::optional<Marked> marked = Understand(call)) {
      if (function.isPresplitCoroutine()) Complain(*call, "RECRASH_MARKED cannot be in a coroutine");
      llvm::IRBuilder<> builder(call);
      // A loop comes here again and again.
      CallIfThere(builder, "__recrash_unmark", {marked->variable});
      CallIfThere(builder, "__recrash_mark", {marked->variable, builder.getInt64(marked->place)});
      variables.push_back(marked->variable);
    }
    if (call->getIntrinsicID() == llvm::Intrinsic::ptr_annotation) call->replaceAllUsesWith(call->getArgOperand(0));
    call->eraseFromParent();
  }
  if (variables.empty()) return !calls.empty();
  llvm::EscapeEnumerator exits(function, "recrash_unmark", !function.doesNotThrow());
  while (llvm::IRBuilder<>* builder = exits.Next())
    for (llvm::Value* variable : variables) CallIfThere(*builder, "__recrash_unmark", {variable});
  return true;
}

}  // namespace

bool MarkSensitiveVariables(llvm::Module& module) {
  std::vector<llvm::Function*> functions;
  for (llvm::Function& function : module)
    if (!function.isDeclaration()) functions.push_back(&function);
  bool changed = false;
  for (llvm::Function* function : functions) changed = MarkIn(*function) || changed;
  return changed;
}

}  // namespace recrash::pass
