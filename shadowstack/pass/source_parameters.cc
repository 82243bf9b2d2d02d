// Debug records say it for nearly all arguments (98.7 % at -O2; most others are unused): a value record on the
// argument, a declare on it, or on a variable that it is stored to. Where they do not, the position says it if nothing
// but scalars is passed; without debug information the mangled name gives the types.
#include "shadowstack/pass/source_parameters.h"

#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "llvm/ADT/STLExtras.h"
#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/DebugProgramInstruction.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/IR/PatternMatch.h"

namespace recrash::pass {
namespace {

const llvm::DIType* StripTypedefs(const llvm::DIType* type) {
  while (const auto* derived = llvm::dyn_cast_or_null<llvm::DIDerivedType>(type)) {
    switch (derived->getTag()) {
      case llvm::dwarf::DW_TAG_typedef:
      case llvm::dwarf::DW_TAG_const_type:
      case llvm::dwarf::DW_TAG_volatile_type:
      case llvm::dwarf::DW_TAG_restrict_type:
      case llvm::dwarf::DW_TAG_atomic_type:
        type = derived->getBaseType();
        continue;
      default:
        return type;
    }
  }
  return type;
}

bool IsScalar(const llvm::DIType* type) {
  type = StripTypedefs(type);
  if (!type) return false;
  if (const auto* composite = llvm::dyn_cast<llvm::DICompositeType>(type))
    return composite->getTag() == llvm::dwarf::DW_TAG_enumeration_type;
  if (const auto* basic = llvm::dyn_cast<llvm::DIBasicType>(type))
    return basic->getEncoding() != llvm::dwarf::DW_ATE_complex_float;
  return type->getTag() == llvm::dwarf::DW_TAG_pointer_type || type->getTag() == llvm::dwarf::DW_TAG_reference_type ||
         type->getTag() == llvm::dwarf::DW_TAG_rvalue_reference_type;
}

// A value as bits of an argument, from `bit` upwards.
struct ArgumentBits {
  const llvm::Argument* argument = nullptr;
  int64_t bit = 0;
};

// Looks through what clang and the optimiser put between an argument and the (piece of a) parameter that it carries:
// `bool` is widened to a byte, a coerced structure is shifted and truncated into its members.
std::optional<ArgumentBits> AsArgumentBits(const llvm::Value* value) {
  using namespace llvm::PatternMatch;
  ArgumentBits bits;
  for (int steps = 0; steps < 8; ++steps) {
    if (const auto* argument = llvm::dyn_cast<llvm::Argument>(value)) {
      bits.argument = argument;
      return bits;
    }
    llvm::ConstantInt* amount = nullptr;
    llvm::Value* inner = nullptr;
    if (match(value, m_LShr(m_Value(inner), m_ConstantInt(amount)))) {
      bits.bit += static_cast<int64_t>(amount->getZExtValue());
    } else if (match(value, m_ExtractElt(m_Value(inner), m_ConstantInt(amount)))) {
      bits.bit += static_cast<int64_t>(amount->getZExtValue() * value->getType()->getPrimitiveSizeInBits());
    } else if (!match(value, m_Trunc(m_Value(inner))) && !match(value, m_ZExtOrSExt(m_Value(inner))) &&
               !match(value, m_BitCast(m_Value(inner))) && !match(value, m_Freeze(m_Value(inner))) &&
               !match(value, m_PtrToInt(m_Value(inner)))) {
      return std::nullopt;
    }
    value = inner;
  }
  return std::nullopt;
}

// What a debug expression does to its value: takes bits from `shift` upwards, perhaps reads memory there, and says
// which bits of the variable the result is.
struct ParsedExpression {
  int64_t shift = 0;
  bool deref = false;
  int64_t fragment = 0;
};

std::optional<ParsedExpression> Parse(const llvm::DIExpression& expression) {
  ParsedExpression parsed;
  std::optional<uint64_t> constant;
  for (auto op = expression.expr_op_begin(); op != expression.expr_op_end(); ++op) {
    switch (op->getOp()) {
      case llvm::dwarf::DW_OP_LLVM_arg:
        if (op->getArg(0) != 0) return std::nullopt;
        break;
      case llvm::dwarf::DW_OP_LLVM_convert:
      case llvm::dwarf::DW_OP_stack_value:
        break;
      case llvm::dwarf::DW_OP_constu:
        constant = op->getArg(0);
        break;
      case llvm::dwarf::DW_OP_shr:
        if (!constant) return std::nullopt;
        parsed.shift += static_cast<int64_t>(*constant);
        constant.reset();
        break;
      case llvm::dwarf::DW_OP_and:  // with a mask, as a truncation is salvaged
        if (!constant) return std::nullopt;
        constant.reset();
        break;
      case llvm::dwarf::DW_OP_deref:
        if (parsed.deref || parsed.shift != 0) return std::nullopt;
        parsed.deref = true;
        break;
      case llvm::dwarf::DW_OP_LLVM_fragment:
        parsed.fragment = static_cast<int64_t>(op->getArg(0));
        break;
      default:
        return std::nullopt;
    }
  }
  return parsed;
}

struct StoredArgument {
  const llvm::Instruction* store = nullptr;
  ArgumentBits bits;
};

// By byte offset in a variable: the first store of an argument there. Only the first: `x = y` stores another argument.
using StoredArguments = std::map<int64_t, StoredArgument>;

void FindStoredArguments(const llvm::Value* address, int64_t offset, const llvm::DataLayout& layout, int depth,
                         StoredArguments& found) {
  const llvm::BasicBlock* entry = nullptr;
  for (const llvm::User* user : address->users()) {
    const auto* instruction = llvm::dyn_cast<llvm::Instruction>(user);
    if (!instruction) continue;
    entry = &instruction->getFunction()->getEntryBlock();
    if (instruction->getParent() != entry) continue;
    if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(instruction)) {
      if (store->getPointerOperand() != address) continue;
      const std::optional<ArgumentBits> bits = AsArgumentBits(store->getValueOperand());
      if (!bits) continue;
      StoredArgument& first = found[offset];
      if (!first.store || store->comesBefore(first.store)) first = {store, *bits};
    } else if (const auto* gep = llvm::dyn_cast<llvm::GetElementPtrInst>(instruction)) {
      llvm::APInt step(64, 0);
      if (gep->getPointerOperand() == address && gep->accumulateConstantOffset(layout, step))
        FindStoredArguments(gep, offset + step.getSExtValue(), layout, depth, found);
    } else if (const auto* copy = llvm::dyn_cast<llvm::MemCpyInst>(instruction)) {
      // At -O0 a coerced structure is first stored to a temporary of the coerced type.
      if (depth > 0 && copy->getRawDest() == address && llvm::isa<llvm::AllocaInst>(copy->getRawSource()))
        FindStoredArguments(copy->getRawSource(), offset, layout, depth - 1, found);
    }
  }
}

class Mapper {
 public:
  explicit Mapper(const llvm::Function& function)
      : function_(function),
        layout_(function.getParent()->getDataLayout()),
        subprogram_(function.getSubprogram()),
        result_(function.arg_size()) {}

  std::vector<SourceParameter> Run() {
    if (subprogram_) {
      ReadDebugRecords();
      FillByPosition();
    }
    if (llvm::all_of(result_, [](const SourceParameter& p) { return p.number == 0; })) FillFromMangledName();
    return std::move(result_);
  }

 private:
  // Only the entry block, and of each variable's part only the first record: later ones are assignments.
  void ReadDebugRecords() {
    for (const llvm::Instruction& instruction : function_.getEntryBlock()) {
      for (const llvm::DbgVariableRecord& record : llvm::filterDbgVars(instruction.getDbgRecordRange())) {
        const llvm::DILocalVariable* variable = record.getVariable();
        if (variable->getArg() == 0 || variable->getArg() > 255 || record.getDebugLoc().getInlinedAt() ||
            variable->getScope()->getSubprogram() != subprogram_)
          continue;
        ReadRecord(record, *variable);
      }
    }
  }

  void ReadRecord(const llvm::DbgVariableRecord& record, const llvm::DILocalVariable& variable) {
    const std::optional<ParsedExpression> expression = Parse(*record.getExpression());
    if (!expression || record.getNumVariableLocationOps() != 1) return;
    const llvm::Value* value = record.getVariableLocationOp(0);
    const bool is_address = record.getType() == llvm::DbgVariableRecord::LocationType::Declare;
    const std::optional<ArgumentBits> bits = AsArgumentBits(value);
    if (bits && !(record.isDbgAssign() && record.isKillLocation())) {
      if (seen_.insert({&variable, expression->fragment}).second)
        SetFromValue(*bits, variable, *expression, is_address || expression->deref);
      return;
    }
    if (record.isDbgAssign()) value = record.getAddress();
    if ((is_address || record.isDbgAssign()) && llvm::isa_and_nonnull<llvm::AllocaInst>(value))
      SetFromVariable(*value, variable, *expression);
  }

  void Set(const llvm::Argument& argument, int64_t offset_bits, const llvm::DILocalVariable& variable, bool indirect) {
    SourceParameter& parameter = result_[argument.getArgNo()];
    if (parameter.number != 0 || offset_bits < 0 || offset_bits % 8 != 0 || offset_bits / 8 > UINT16_MAX) return;
    parameter.number = static_cast<uint8_t>(variable.getArg());
    parameter.offset = static_cast<uint16_t>(offset_bits / 8);
    parameter.indirect = indirect;
    parameter.type = variable.getType();
  }

  void SetFromValue(const ArgumentBits& bits, const llvm::DILocalVariable& variable, const ParsedExpression& expression,
                    bool in_memory) {
    const int64_t offset = in_memory ? 0 : expression.fragment - expression.shift - bits.bit;
    Set(*bits.argument, offset, variable, in_memory && !bits.argument->hasByValAttr());
  }

  void SetFromVariable(const llvm::Value& address, const llvm::DILocalVariable& variable,
                       const ParsedExpression& expression) {
    StoredArguments stored;
    FindStoredArguments(&address, 0, layout_, /*depth=*/2, stored);
    for (const auto& [offset, argument] : stored)
      Set(*argument.bits.argument, expression.fragment + offset * 8 - argument.bits.bit, variable, expression.deref);
  }

  // The source has as many parameters as the function has arguments, all of them scalars, and no record contradicts.
  void FillByPosition() {
    if (!subprogram_->getType()) return;
    const llvm::DITypeRefArray types = subprogram_->getType()->getTypeArray();
    const unsigned hidden = HiddenArguments();
    if (types.size() < 2 || types.size() - 1 != function_.arg_size() - hidden) return;
    for (unsigned i = 1; i < types.size(); ++i) {
      const SourceParameter& parameter = result_[i - 1 + hidden];
      if (!IsScalar(types[i]) || (parameter.number != 0 && parameter.number != i)) return;
    }
    for (unsigned i = 1; i < types.size() && i < 256; ++i) {
      SourceParameter& parameter = result_[i - 1 + hidden];
      if (parameter.number != 0) continue;
      parameter.number = static_cast<uint8_t>(i);
      parameter.type = types[i];
    }
  }

  // Itanium names give the parameter types but not whether there is a `this`: the count decides, if every parameter is
  // one argument for certain.
  void FillFromMangledName() {
    llvm::ItaniumPartialDemangler demangler;
    const std::string name = function_.getName().str();
    if (demangler.partialDemangle(name.c_str()) || !demangler.isFunction()) return;
    char* text = demangler.getFunctionParameters(nullptr, nullptr);
    if (!text) return;
    const std::optional<unsigned> count = CountScalarParameters(text);
    std::free(text);
    const unsigned hidden = HiddenArguments();
    const unsigned arguments = function_.arg_size() - hidden;
    if (!count || (arguments != *count && arguments != *count + 1)) return;
    for (unsigned i = 0; i < arguments && i < 255; ++i) result_[i + hidden].number = static_cast<uint8_t>(i + 1);
  }

  // "(int, Foo*, char const&)" -> 3; nothing when a class might be among them.
  static std::optional<unsigned> CountScalarParameters(llvm::StringRef text) {
    if (!text.consume_front("(") || !text.consume_back(")")) return std::nullopt;
    if (text.empty()) return 0;
    if (text.find_first_of("<({[") != llvm::StringRef::npos) return std::nullopt;  // commas need not separate there
    llvm::SmallVector<llvm::StringRef, 8> types;
    text.split(types, ", ");
    static const std::set<llvm::StringRef> kScalars = {
        "bool",     "char",          "signed char", "unsigned char",      "wchar_t",       "char8_t",
        "char16_t", "char32_t",      "short",       "unsigned short",     "int",           "unsigned int",
        "long",     "unsigned long", "long long",   "unsigned long long", "__int128",      "unsigned __int128",
        "float",    "double",        "long double", "__float128",         "std::nullptr_t"};
    for (const llvm::StringRef type : types)
      if (!type.ends_with("*") && !type.ends_with("&") && !kScalars.count(type)) return std::nullopt;
    return types.size();
  }

  unsigned HiddenArguments() const { return function_.hasStructRetAttr() ? 1 : 0; }

  const llvm::Function& function_;
  const llvm::DataLayout& layout_;
  const llvm::DISubprogram* subprogram_;
  std::vector<SourceParameter> result_;
  std::set<std::pair<const llvm::DILocalVariable*, int64_t>> seen_;
};

}  // namespace

std::vector<SourceParameter> MapToSource(const llvm::Function& function) { return Mapper(function).Run(); }

bool PointsToConst(const SourceParameter& parameter) {
  if (parameter.indirect) return false;
  const auto* pointer = llvm::dyn_cast_or_null<llvm::DIDerivedType>(StripTypedefs(parameter.type));
  if (!pointer) return false;
  const llvm::DIType* pointee = pointer->getBaseType();
  switch (pointer->getTag()) {
    case llvm::dwarf::DW_TAG_pointer_type:
    case llvm::dwarf::DW_TAG_reference_type:
    case llvm::dwarf::DW_TAG_rvalue_reference_type:
      break;
    default:
      return false;
  }
  while (const auto* derived = llvm::dyn_cast_or_null<llvm::DIDerivedType>(pointee)) {
    switch (derived->getTag()) {
      case llvm::dwarf::DW_TAG_const_type:
        return true;
      case llvm::dwarf::DW_TAG_typedef:
      case llvm::dwarf::DW_TAG_volatile_type:
      case llvm::dwarf::DW_TAG_restrict_type:
        pointee = derived->getBaseType();
        continue;
      default:
        return false;
    }
  }
  return false;
}

}  // namespace recrash::pass
