// Debug records say it for nearly all arguments (98.7 % at -O2; most others are unused): a value record on the
// argument, a declare on it, or on a variable that it is stored to. Where they do not, the position says it if nothing
// but scalars is passed; without debug information the mangled name gives the types.
#include "shadowstack/pass/source_parameters.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"
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

// Without typedefs and qualifiers; `stops` keeps the first of that tag.
const llvm::DIType* StripTypedefs(const llvm::DIType* type, llvm::dwarf::Tag stops = llvm::dwarf::DW_TAG_null) {
  using namespace llvm::dwarf;
  constexpr Tag kStripped[] = {DW_TAG_typedef, DW_TAG_const_type, DW_TAG_volatile_type, DW_TAG_restrict_type,
                               DW_TAG_atomic_type};
  while (type && type->getTag() != stops && llvm::is_contained(kStripped, type->getTag()))
    type = llvm::cast<llvm::DIDerivedType>(type)->getBaseType();
  return type;
}

bool IsAddress(const llvm::DIType& type) {
  return type.getTag() == llvm::dwarf::DW_TAG_pointer_type || type.getTag() == llvm::dwarf::DW_TAG_reference_type ||
         type.getTag() == llvm::dwarf::DW_TAG_rvalue_reference_type;
}

bool IsScalar(const llvm::DIType* type) {
  type = StripTypedefs(type);
  if (!type) return false;
  if (const auto* composite = llvm::dyn_cast<llvm::DICompositeType>(type))
    return composite->getTag() == llvm::dwarf::DW_TAG_enumeration_type;
  if (const auto* basic = llvm::dyn_cast<llvm::DIBasicType>(type))
    return basic->getEncoding() != llvm::dwarf::DW_ATE_complex_float;
  return IsAddress(*type);
}

// An argument whose lowest bit is bit `position` of some value; negative where its lowest bits were shifted out.
struct PlacedArgument {
  const llvm::Argument* argument = nullptr;
  int64_t position = 0;
};

// Looks through what clang and the optimiser put between arguments and the (piece of a) parameter that they carry:
// `bool` is widened to a byte, a coerced structure is shifted and truncated into its members, the two halves of an
// __int128 are put together.
void Decompose(const llvm::Value* value, int64_t position, int depth, llvm::SmallVectorImpl<PlacedArgument>& out) {
  using namespace llvm::PatternMatch;
  if (const auto* argument = llvm::dyn_cast<llvm::Argument>(value)) {
    out.push_back({argument, position});
    return;
  }
  if (depth == 0) return;
  llvm::ConstantInt* amount = nullptr;
  llvm::Value *first = nullptr, *second = nullptr;
  llvm::ArrayRef<int> mask;
  if (match(value, m_LShr(m_Value(first), m_ConstantInt(amount)))) {
    Decompose(first, position - static_cast<int64_t>(amount->getZExtValue()), depth - 1, out);
  } else if (match(value, m_Shl(m_Value(first), m_ConstantInt(amount)))) {
    Decompose(first, position + static_cast<int64_t>(amount->getZExtValue()), depth - 1, out);
  } else if (match(value, m_ExtractElt(m_Value(first), m_ConstantInt(amount)))) {
    const int64_t width = static_cast<int64_t>(value->getType()->getPrimitiveSizeInBits());
    Decompose(first, position - static_cast<int64_t>(amount->getZExtValue()) * width, depth - 1, out);
  } else if (match(value, m_InsertElt(m_Value(first), m_Value(second), m_ConstantInt(amount)))) {
    const int64_t width = static_cast<int64_t>(second->getType()->getPrimitiveSizeInBits());
    Decompose(first, position, depth - 1, out);
    Decompose(second, position + static_cast<int64_t>(amount->getZExtValue()) * width, depth - 1, out);
  } else if (match(value, m_Or(m_Value(first), m_Value(second)))) {
    Decompose(first, position, depth - 1, out);
    Decompose(second, position, depth - 1, out);
  } else if (match(value, m_Shuffle(m_Value(first), m_Value(), m_Mask(mask)))) {
    if (!mask.empty() && mask[0] == 0) Decompose(first, position, depth - 1, out);  // widened or narrowed at the end
  } else if (llvm::isa<llvm::TruncInst, llvm::ZExtInst, llvm::SExtInst, llvm::BitCastInst, llvm::PtrToIntInst,
                       llvm::IntToPtrInst, llvm::FreezeInst>(value)) {
    Decompose(llvm::cast<llvm::Instruction>(value)->getOperand(0), position, depth - 1, out);
  } else if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(value)) {
    // What found no registers comes in memory, also what is no class in the source: a pointer to member function.
    llvm::APInt offset(64, 0);
    const llvm::Value* base = load->getPointerOperand()->stripAndAccumulateConstantOffsets(
        load->getModule()->getDataLayout(), offset, /*AllowNonInbounds=*/true);
    const auto* argument = llvm::dyn_cast<llvm::Argument>(base);
    if (argument && argument->hasByValAttr()) out.push_back({argument, position - offset.getSExtValue() * 8});
  }
}

llvm::SmallVector<PlacedArgument, 2> Decompose(const llvm::Value* value) {
  llvm::SmallVector<PlacedArgument, 2> placed;
  Decompose(value, 0, /*depth=*/6, placed);
  return placed;
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
  const llvm::Argument* argument = nullptr;
};

// By the bit of the variable where the argument's lowest bit lands: the first store of an argument there. Only the
// first: `x = y` stores another argument.
using StoredArguments = std::map<int64_t, StoredArgument>;

// Finds the stores of arguments that give a variable its first value, in the entry block. At -O0 a coerced structure is
// first stored to a temporary of the coerced type and copied from there; `declared` are the variables that debug
// records name, which are no such temporaries.
class StoreFinder {
 public:
  StoreFinder(const llvm::DataLayout& layout, const llvm::SmallPtrSetImpl<const llvm::Value*>& declared)
      : layout_(layout), declared_(declared) {}

  StoredArguments Run(const llvm::Value& variable) {
    Visit(&variable, 0, /*depth=*/2);
    return std::move(found_);
  }

 private:
  void Visit(const llvm::Value* address, int64_t bit, int depth) {
    for (const llvm::User* user : address->users()) {
      const auto* instruction = llvm::dyn_cast<llvm::Instruction>(user);
      if (!instruction || !instruction->getParent()->isEntryBlock()) continue;
      if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(instruction)) {
        if (store->getPointerOperand() == address) VisitStore(*store, bit, depth);
      } else if (const auto* gep = llvm::dyn_cast<llvm::GetElementPtrInst>(instruction)) {
        llvm::APInt step(64, 0);
        if (gep->getPointerOperand() == address && gep->accumulateConstantOffset(layout_, step))
          Visit(gep, bit + step.getSExtValue() * 8, depth);
      } else if (const auto* copy = llvm::dyn_cast<llvm::MemCpyInst>(instruction)) {
        if (copy->getRawDest() == address) VisitTemporary(copy->getRawSource(), bit, depth);
      }
    }
  }

  void VisitStore(const llvm::StoreInst& store, int64_t bit, int depth) {
    const llvm::Value* value = store.getValueOperand();
    for (const PlacedArgument& placed : Decompose(value)) {
      StoredArgument& first = found_[bit + placed.position];
      if (!first.store || store.comesBefore(first.store)) first = {&store, placed.argument};
    }
    if (const auto* shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(value)) value = shuffle->getOperand(0);
    if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(value)) VisitTemporary(load->getPointerOperand(), bit, depth);
  }

  void VisitTemporary(const llvm::Value* temporary, int64_t bit, int depth) {
    if (depth > 0 && llvm::isa<llvm::AllocaInst>(temporary) && !declared_.contains(temporary))
      Visit(temporary, bit, depth - 1);
  }

  const llvm::DataLayout& layout_;
  const llvm::SmallPtrSetImpl<const llvm::Value*>& declared_;
  StoredArguments found_;
};

class Mapper {
 public:
  explicit Mapper(const llvm::Function& function)
      : function_(function),
        layout_(function.getParent()->getDataLayout()),
        subprogram_(function.getSubprogram()),
        result_(function.arg_size()) {}

  std::vector<SourceParameter> Run() {
    if (subprogram_) ReadDebugRecords();
    // The optimiser takes arguments from internal functions, and the mark of a hidden one: positions mean nothing
    // there.
    if (function_.hasLocalLinkage()) return std::move(result_);
    if (subprogram_) FillByPosition();
    if (llvm::all_of(result_, [](const SourceParameter& p) { return p.number == 0; })) FillFromMangledName();
    return std::move(result_);
  }

 private:
  // Only the entry block, and of each variable's part only the first record: later ones are assignments.
  void ReadDebugRecords() {
    llvm::SmallVector<const llvm::DbgVariableRecord*, 16> records;
    for (const llvm::Instruction& instruction : function_.getEntryBlock()) {
      for (const llvm::DbgVariableRecord& record : llvm::filterDbgVars(instruction.getDbgRecordRange())) {
        if (IsAddress(record) && record.getNumVariableLocationOps() == 1)
          declared_.insert(record.getVariableLocationOp(0));
        if (IsParameter(record)) records.push_back(&record);
      }
    }
    for (const llvm::DbgVariableRecord* record : records) ReadRecord(*record);
    ReadLoopRecords();
  }

  // Where a call of itself at the end became a loop, a parameter is what the loop starts with.
  void ReadLoopRecords() {
    const llvm::BasicBlock& entry = function_.getEntryBlock();
    const llvm::BasicBlock* loop = entry.getSingleSuccessor();
    if (!loop) return;
    for (const llvm::Instruction& instruction : *loop) {
      for (const llvm::DbgVariableRecord& record : llvm::filterDbgVars(instruction.getDbgRecordRange())) {
        if (!IsParameter(record) || record.getNumVariableLocationOps() != 1) continue;
        const auto* phi = llvm::dyn_cast_or_null<llvm::PHINode>(record.getVariableLocationOp(0));
        if (phi && phi->getParent() == loop) ReadValue(record, phi->getIncomingValueForBlock(&entry));
      }
    }
  }

  bool IsParameter(const llvm::DbgVariableRecord& record) const {
    const llvm::DILocalVariable* variable = record.getVariable();
    return variable->getArg() != 0 && variable->getArg() <= 255 && !record.getDebugLoc().getInlinedAt() &&
           variable->getScope()->getSubprogram() == subprogram_;
  }

  static bool IsAddress(const llvm::DbgVariableRecord& record) {
    return record.getType() == llvm::DbgVariableRecord::LocationType::Declare;
  }

  void ReadRecord(const llvm::DbgVariableRecord& record) {
    if (record.getNumVariableLocationOps() != 1) return;
    const llvm::Value* value = record.getVariableLocationOp(0);
    if (ReadValue(record, value)) return;
    const std::optional<ParsedExpression> expression = Parse(*record.getExpression());
    if (record.isDbgAssign()) value = record.getAddress();
    if (expression && (IsAddress(record) || record.isDbgAssign()) && llvm::isa_and_nonnull<llvm::AllocaInst>(value))
      for (const auto& [bit, stored] : StoreFinder(layout_, declared_).Run(*value))
        Set(*stored.argument, expression->fragment + bit, *record.getVariable(), expression->deref);
  }

  // False when the value is not made of arguments.
  bool ReadValue(const llvm::DbgVariableRecord& record, const llvm::Value* value) {
    const llvm::DILocalVariable& variable = *record.getVariable();
    const std::optional<ParsedExpression> expression = Parse(*record.getExpression());
    const llvm::SmallVector<PlacedArgument, 2> placed = Decompose(value);
    if (!expression || placed.empty()) return false;
    if (!seen_.insert({&variable, expression->fragment}).second) return true;
    const bool in_memory = IsAddress(record) || expression->deref;
    for (const PlacedArgument& argument : placed)
      Set(*argument.argument, in_memory ? 0 : expression->fragment - expression->shift + argument.position, variable,
          in_memory && !argument.argument->hasByValAttr());
    return true;
  }

  void Set(const llvm::Argument& argument, int64_t offset_bits, const llvm::DILocalVariable& variable, bool indirect) {
    SourceParameter& parameter = result_[argument.getArgNo()];
    if (parameter.number != 0 || offset_bits < 0 || offset_bits % 8 != 0 || offset_bits / 8 > UINT16_MAX) return;
    parameter.number = static_cast<uint8_t>(variable.getArg());
    parameter.offset = static_cast<uint16_t>(offset_bits / 8);
    parameter.indirect = indirect;
    parameter.type = variable.getType();
  }

  // Gaps between arguments that are known, where it is certain how many arguments each missing parameter is and the
  // count is right.
  void FillByPosition() {
    if (!subprogram_->getType()) return;
    const llvm::DITypeRefArray types = subprogram_->getType()->getTypeArray();
    if (types.size() < 2) return;
    unsigned parameters = types.size() - 1;
    if (!types[parameters]) --parameters;  // the ellipsis
    const unsigned hidden = HiddenArguments();
    for (unsigned begin = hidden; begin < result_.size();) {
      if (result_[begin].number != 0) {
        ++begin;
        continue;
      }
      unsigned end = begin;
      while (end < result_.size() && result_[end].number == 0) ++end;
      const unsigned low = begin == hidden ? 0 : result_[begin - 1].number;
      const unsigned high = end == result_.size() ? parameters + 1 : result_[end].number;
      const bool closed =
          (begin == hidden || IsWhole(begin - 1)) && (end == result_.size() || result_[end].offset == 0);
      if (closed) FillGap(begin, end, low + 1, high, types);
      begin = end;
    }
  }

  // The last byte of the argument's parameter is in the argument: nothing of it comes in the next.
  bool IsWhole(unsigned argument) const {
    const SourceParameter& parameter = result_[argument];
    const llvm::Argument& value = *function_.getArg(argument);
    if (parameter.indirect || value.hasByValAttr()) return true;
    const llvm::DIType* type = StripTypedefs(parameter.type);
    if (!type) return false;
    if (IsScalar(type) && !value.getType()->isIntegerTy()) return true;
    return parameter.offset * 8 + layout_.getTypeStoreSizeInBits(value.getType()).getFixedValue() >=
           type->getSizeInBits();
  }

  void FillGap(unsigned begin, unsigned end, unsigned low, unsigned high, const llvm::DITypeRefArray& types) {
    std::vector<SourceParameter> gap;
    for (unsigned number = low; number < high && number <= 255; ++number) {
      const unsigned count = begin + gap.size() < end ? CountArguments(types[number], begin + gap.size()) : 0;
      if (count == 0) return;
      for (unsigned i = 0; i < count; ++i)
        gap.push_back({static_cast<uint8_t>(number), static_cast<uint16_t>(8 * i), false, types[number]});
    }
    if (gap.size() == end - begin) std::copy(gap.begin(), gap.end(), result_.begin() + begin);
  }

  // How many arguments a parameter of the type is if the first of them is `first`; 0 when that is not certain.
  unsigned CountArguments(const llvm::DIType* type, unsigned first) const {
    type = StripTypedefs(type);
    if (!type) return 0;
    const auto* composite = llvm::dyn_cast<llvm::DICompositeType>(type);
    if (!IsScalar(type) && !(composite && composite->isVector())) return 0;
    const uint64_t width = layout_.getTypeSizeInBits(function_.getArg(first)->getType()).getFixedValue();
    if (type->getSizeInBits() <= 64 || width > 64) return 1;
    // An __int128 in two halves.
    const auto is_word = [&](unsigned i) {
      return i < function_.arg_size() && function_.getArg(i)->getType()->isIntegerTy(64);
    };
    return type->getSizeInBits() == 128 && is_word(first) && is_word(first + 1) ? 2 : 0;
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
  llvm::SmallPtrSet<const llvm::Value*, 16> declared_;
};

}  // namespace

std::vector<SourceParameter> MapToSource(const llvm::Function& function) { return Mapper(function).Run(); }

bool PointsToConst(const SourceParameter& parameter) {
  const auto* pointer = llvm::dyn_cast_or_null<llvm::DIDerivedType>(StripTypedefs(parameter.type));
  if (parameter.indirect || !pointer || !IsAddress(*pointer)) return false;
  const llvm::DIType* pointee = StripTypedefs(pointer->getBaseType(), llvm::dwarf::DW_TAG_const_type);
  return pointee && pointee->getTag() == llvm::dwarf::DW_TAG_const_type;
}

}  // namespace recrash::pass
