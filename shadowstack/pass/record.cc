// Nothing is undone at exits and no state lives outside the frame, so exceptions, longjmp, coroutines, fork and tail
// calls need no code: a frame that is not live has no record. Measured on cppcheck, yaml-cpp and pugixml: 3-4 % more
// instructions, 2-4 % more text.
#include "shadowstack/pass/record.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "llvm/ADT/MapVector.h"
#include "llvm/CodeGen/StackProtector.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "shadowstack/abi.h"
#include "shadowstack/pass/argument_locations.h"
#include "shadowstack/pass/descriptor.h"
#include "shadowstack/pass/placement.h"
#include "shadowstack/pass/source_parameters.h"
#include "shadowstack/pass/used_fields.h"

namespace recrash::pass {
namespace {

constexpr size_t kMaxWords = 255;        // MapEntry::word_count
constexpr uint32_t kMaxByValBytes = 64;  // larger ones lie in the saved stack anyway
constexpr uint32_t kMaxRecord = 4096;    // a page: the stack probe of the function stays what it was

struct Store {
  llvm::Argument* argument = nullptr;
  uint32_t record_offset = 0;
  bool loaded = false;  // a copy of memory: `field` of what the argument points to; else the argument itself
  Field field = {};
};

struct Layout {
  std::vector<Store> arguments;
  std::vector<Store> fields;
  std::vector<abi::MapWord> words;              // of the arguments
  std::vector<abi::MapWord> words_with_fields;  // each field after the last word of the argument it is read through
  uint32_t size = 0;
  std::vector<ArgumentPlace> places;  // by argument
};

uint32_t Words(const Layout& layout) { return (layout.size + 7) / 8; }

class LayoutBuilder {
 public:
  LayoutBuilder(llvm::Function& function, const Options& options, WriteEffects* effects)
      : function_(function),
        options_(options),
        effects_(effects),
        locations_(AssignArgumentLocations(function)),
        sources_(MapToSource(function)) {}

  Layout Run() {
    FindFields();
    layout_.places = PlaceArguments(function_, sources_, AccessesToFields(), effects_);
    for (llvm::Argument& argument : function_.args()) {
      if (!IsKept(argument)) continue;
      if (argument.hasByValAttr())
        AddByVal(argument);
      else
        AddArgument(argument);
      AddFields(argument);
    }
    return std::move(layout_);
  }

 private:
  // What the function does not use is not worth a store; the call can be made with anything in its place.
  bool IsKept(const llvm::Argument& argument) const {
    return !argument.use_empty() && !locations_[argument.getArgNo()].empty();
  }

  void FindFields() {
    fields_.resize(function_.arg_size());
    if (!effects_) return;
    for (llvm::Argument& argument : function_.args()) {
      const unsigned number = argument.getArgNo();
      if (IsKept(argument)) fields_[number] = FindUsedFields(argument, sources_[number], options_.depth, *effects_);
    }
  }

  // The function's own accesses that are copied, by argument.
  std::vector<CopiedFields> AccessesToFields() const {
    std::vector<CopiedFields> accesses(fields_.size());
    for (size_t number = 0; number < fields_.size(); ++number)
      for (const Field& field : fields_[number]) accesses[number].push_back(field.access);
    return accesses;
  }

  uint32_t Allocate(uint32_t size) {
    uint32_t alignment = 1;
    while (alignment < size && alignment < 8) alignment *= 2;
    const uint32_t offset = (layout_.size + alignment - 1) / alignment * alignment;
    layout_.size = offset + size;
    return offset;
  }

  bool HasRoomFor(size_t words, uint32_t bytes) const {
    return layout_.words_with_fields.size() + words <= kMaxWords && layout_.size + bytes + 8 <= kMaxRecord;
  }

  abi::MapWord ArgumentWord(const llvm::Argument& argument, const Piece& piece, uint32_t record_offset) const {
    const SourceParameter& source = sources_[argument.getArgNo()];
    abi::MapWord word{};
    word.kind = static_cast<uint8_t>(abi::WordKind::kArgument);
    word.location = static_cast<uint8_t>(piece.location);
    word.size = static_cast<uint16_t>(piece.size);
    word.record_offset = static_cast<uint16_t>(record_offset);
    word.stack_offset = static_cast<uint16_t>(piece.stack_offset);
    if (source.number != 0 && source.offset + piece.offset <= UINT16_MAX) {
      word.parameter = source.number;
      word.source_offset = static_cast<uint16_t>(source.offset + piece.offset);
    } else {
      word.source_offset = static_cast<uint16_t>(piece.offset);
    }
    if (source.indirect) word.flags |= abi::kIndirect;
    if (argument.hasByValAttr()) word.flags |= abi::kByVal;
    if (layout_.places[argument.getArgNo()].followed) word.flags |= abi::kFollowed;
    return word;
  }

  void AddWord(const abi::MapWord& word) {
    layout_.words.push_back(word);
    layout_.words_with_fields.push_back(word);
  }

  void AddArgument(llvm::Argument& argument) {
    const Pieces& pieces = locations_[argument.getArgNo()];
    const llvm::TypeSize type_size = function_.getParent()->getDataLayout().getTypeStoreSize(argument.getType());
    if (type_size.isScalable()) return;
    const auto size = static_cast<uint32_t>(type_size.getFixedValue());
    if (size == 0 || !HasRoomFor(pieces.size(), size)) return;
    if (layout_.places[argument.getArgNo()].before.empty()) {
      for (const Piece& piece : pieces) AddWord(ArgumentWord(argument, piece, abi::kNotStored));
      return;
    }
    const uint32_t offset = Allocate(size);
    layout_.arguments.push_back({&argument, offset});
    for (const Piece& piece : pieces) AddWord(ArgumentWord(argument, piece, offset + piece.offset));
  }

  void AddByVal(llvm::Argument& argument) {
    const Pieces& pieces = locations_[argument.getArgNo()];
    const uint32_t size = pieces.back().offset + pieces.back().size;
    if (size > kMaxByValBytes || !HasRoomFor(pieces.size(), size)) return;
    for (const Piece& piece : pieces) {
      const uint32_t offset = Allocate(piece.size);
      layout_.arguments.push_back({&argument, offset, true, {piece.offset, piece.size}});
      AddWord(ArgumentWord(argument, piece, offset));
    }
  }

  void AddFields(llvm::Argument& argument) {
    const SourceParameter& source = sources_[argument.getArgNo()];
    if (!layout_.places[argument.getArgNo()].copies_before) return;
    for (const Field& field : fields_[argument.getArgNo()]) {
      if (!HasRoomFor(1, field.size)) return;
      const uint32_t offset = Allocate(field.size);
      layout_.fields.push_back({&argument, offset, true, field});
      abi::MapWord word{};
      word.kind = static_cast<uint8_t>(field.via ? abi::WordKind::kDeepField : abi::WordKind::kField);
      word.stack_offset = static_cast<uint16_t>(field.via.value_or(0));
      word.location = static_cast<uint8_t>(abi::Location::kUnknown);
      word.parameter = source.number;
      word.size = static_cast<uint16_t>(field.size);
      word.record_offset = static_cast<uint16_t>(offset);
      word.source_offset = static_cast<uint16_t>(field.offset);
      layout_.words_with_fields.push_back(word);
    }
  }

  llvm::Function& function_;
  const Options& options_;
  WriteEffects* const effects_;
  std::vector<Pieces> locations_;
  std::vector<SourceParameter> sources_;
  std::vector<std::vector<Field>> fields_;  // by argument
  Layout layout_;
};

// -fstack-protector-strong protects functions whose locals have their address taken, and to it the asm takes the
// record's. Asked before the record exists: a function that had no need of a canary goes on without one.
void KeepStackProtectorAsItWas(llvm::Function& function) {
  if (!function.hasFnAttribute(llvm::Attribute::StackProtectStrong)) return;
  if (!llvm::SSPLayoutAnalysis::requiresStackProtector(&function))
    function.removeFnAttr(llvm::Attribute::StackProtectStrong);
}

class Emitter {
 public:
  Emitter(llvm::Function& function, const Layout& layout)
      : function_(function), context_(function.getContext()), layout_(layout), builder_(context_) {}

  void Run() {
    if (layout_.size != 0) MakeRecord();
    if (!layout_.fields.empty()) tree_.emplace(function_);
    for (const Store& store : layout_.arguments)
      for (llvm::Instruction* before : PlaceOf(store).before) places_[before].arguments.push_back(&store);
    for (const Store& store : layout_.fields) places_[PlaceOf(store).copies_before].fields.push_back(&store);
    bool described = false;
    for (const auto& [before, stores] : places_) described |= EmitStores(before, stores);
    for (llvm::LoadInst* load : replaced_) load->eraseFromParent();
    if (described) return;
    // Every word is followed: any place will do, and one that has the record anyway costs least.
    builder_.SetInsertPoint(places_.empty() ? HeadOf(function_) : places_.front().first);
    Describe(layout_.words);
  }

 private:
  struct Stores {
    std::vector<const Store*> arguments;
    std::vector<const Store*> fields;
  };

  const ArgumentPlace& PlaceOf(const Store& store) const { return layout_.places[store.argument->getArgNo()]; }

  void MakeRecord() {
    llvm::BasicBlock& entry = function_.getEntryBlock();
    builder_.SetInsertPoint(&entry, entry.begin());
    builder_.SetCurrentDebugLocation(llvm::DebugLoc());
    // A structure of integers: -fstack-protector counts arrays. Alignment 8 keeps frames small.
    llvm::Type* word = builder_.getInt64Ty();
    type_ = llvm::StructType::get(context_, std::vector<llvm::Type*>(Words(layout_), word));
    record_ = builder_.CreateAlloca(type_, nullptr, "recrash.record");
    record_->setAlignment(llvm::Align(8));
  }

  // The argument words get a descriptor before the fields are copied: a null pointer faults in the copy, and the words
  // must be readable by then. A reader takes the last descriptor before the pc. False when nothing asks for one here.
  bool EmitStores(llvm::Instruction* before, const Stores& stores) {
    builder_.SetInsertPoint(before);
    builder_.SetCurrentDebugLocation(llvm::DebugLoc());
    for (const Store* store : stores.arguments) Emit(*store, store->loaded ? Load(*store) : store->argument);
    const bool only_here =
        llvm::any_of(stores.arguments, [&](const Store* store) { return !PlaceOf(*store).followed; });
    if (!only_here && stores.fields.empty()) return false;
    Describe(layout_.words);
    if (stores.fields.empty()) return true;
    for (const Store* store : stores.fields) {
      llvm::Value* value = Load(*store);
      if (!store->field.via && value->getType()->isPointerTy())
        pointers_[{store->argument, store->field.offset}] = value;
      Emit(*store, value);
    }
    Describe(layout_.words_with_fields);
    return true;
  }

  llvm::Value* At(llvm::Value* base, uint32_t offset) {
    return offset == 0 ? base : builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), base, offset);
  }

  llvm::Type* TypeOfSize(uint32_t size) {
    if (size == 16) return llvm::FixedVectorType::get(builder_.getInt64Ty(), 2);
    return builder_.getIntNTy(size * 8);
  }

  // Volatile: link-time optimisation must neither drop a store nor move it over the descriptor's label.
  void Emit(const Store& store, llvm::Value* value) {
    builder_.CreateAlignedStore(value, At(record_, store.record_offset),
                                llvm::commonAlignment(llvm::Align(8), store.record_offset), /*isVolatile=*/true);
    builder_.SetCurrentDebugLocation(llvm::DebugLoc());
  }

  // One load for the function and for us, wherever that is possible; without optimisation each line loads for itself.
  llvm::Value* Load(const Store& store) {
    const Field& field = store.field;
    const bool shared = field.load && !function_.hasOptNone();
    if (shared && tree_->dominates(field.load, &*builder_.GetInsertPoint())) return field.load;
    builder_.SetCurrentDebugLocation(field.access ? field.access->getDebugLoc() : llvm::DebugLoc());
    llvm::Value* address = At(field.via ? PointerAt(store) : store.argument, field.offset);
    if (!shared) return builder_.CreateAlignedLoad(TypeOfSize(field.size), address, llvm::Align(1));
    auto* load = builder_.CreateAlignedLoad(field.load->getType(), address, field.load->getAlign());
    load->setAAMetadata(field.load->getAAMetadata());
    field.load->replaceAllUsesWith(load);
    replaced_.push_back(field.load);
    return load;
  }

  llvm::Value* PointerAt(const Store& store) {
    const auto copied = pointers_.find({store.argument, *store.field.via});
    if (copied != pointers_.end()) return copied->second;
    return builder_.CreateAlignedLoad(builder_.getPtrTy(), At(store.argument, *store.field.via), llvm::Align(1));
  }

  void Describe(llvm::ArrayRef<abi::MapWord> words) {
    const llvm::StringRef name = llvm::GlobalValue::dropLLVMManglingEscape(function_.getName());
    const bool has_record = record_ != nullptr;
    const llvm::SmallVector<llvm::Value*, 1> operands(has_record ? 1 : 0, record_);
    const llvm::SmallVector<llvm::Type*, 1> types(operands.size(), builder_.getPtrTy());
    auto* type = llvm::FunctionType::get(builder_.getVoidTy(), types, /*isVarArg=*/false);
    auto* assembly = llvm::InlineAsm::get(type, DescriptorAssembly(name, words, has_record), has_record ? "*m" : "",
                                          /*hasSideEffects=*/true);
    builder_.SetCurrentDebugLocation(llvm::DebugLoc());
    llvm::CallInst* call = builder_.CreateCall(assembly, operands);
    if (has_record) DescribeOperand(*call);
    // It reads the record and nothing else; without `inaccessible memory` it would be dead code.
    call->setMemoryEffects(llvm::MemoryEffects::argMemOnly(llvm::ModRefInfo::Ref) |
                           llvm::MemoryEffects::inaccessibleMemOnly());
    for (const auto attribute : {llvm::Attribute::NoUnwind, llvm::Attribute::WillReturn, llvm::Attribute::NoSync,
                                 llvm::Attribute::NoFree, llvm::Attribute::NoCallback})
      call->addFnAttr(attribute);
  }

  void DescribeOperand(llvm::CallInst& call) {
    call.addParamAttr(0, llvm::Attribute::get(context_, llvm::Attribute::ElementType, type_));
#if LLVM_VERSION_MAJOR >= 21
    call.addParamAttr(0, llvm::Attribute::getWithCaptureInfo(context_, llvm::CaptureInfo::none()));
#else
    call.addParamAttr(0, llvm::Attribute::NoCapture);
#endif
  }

  llvm::Function& function_;
  llvm::LLVMContext& context_;
  const Layout& layout_;
  llvm::IRBuilder<> builder_;
  llvm::StructType* type_ = nullptr;
  llvm::AllocaInst* record_ = nullptr;
  llvm::MapVector<llvm::Instruction*, Stores> places_;                           // what is stored before each
  std::optional<llvm::DominatorTree> tree_;                                      // where fields are copied
  std::map<std::pair<const llvm::Argument*, uint32_t>, llvm::Value*> pointers_;  // copied ones, by their offset
  std::vector<llvm::LoadInst*> replaced_;
};

}  // namespace

Recorded AddRecord(llvm::Function& function, const Options& options, WriteEffects* effects) {
  const Layout layout = LayoutBuilder(function, options, effects).Run();
  if (layout.words.empty()) return {};
  Recorded recorded{.described = true, .stores_at_entry = false, .bytes = Words(layout) * 8};
  for (const ArgumentPlace& place : layout.places) {
    recorded.stores_at_entry |= place.copies_before && place.copies_before->getParent()->isEntryBlock();
    for (const llvm::Instruction* before : place.before)
      recorded.stores_at_entry |= before->getParent()->isEntryBlock();
  }
  if (layout.size != 0) KeepStackProtectorAsItWas(function);
  Emitter(function, layout).Run();
  return recorded;
}

}  // namespace recrash::pass
