// The order of the rules follows CC_X86_64_C in LLVM's X86CallingConv.td; `pass.random_signatures` compares the result
// with what the compiler does. Internal functions with fastcc use the same rules on x86-64.
#include "shadowstack/pass/argument_locations.h"

#include <algorithm>

#include "llvm/IR/DataLayout.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Alignment.h"

namespace recrash::pass {
namespace {

using abi::Location;

constexpr unsigned kIntegerRegisters = 6;
constexpr unsigned kVectorRegisters = 8;

class Allocator {
 public:
  explicit Allocator(const llvm::Function& function)
      : layout_(function.getParent()->getDataLayout()),
        features_(function.getFnAttribute("target-features").getValueAsString()) {
    function.getFnAttribute("min-legal-vector-width").getValueAsString().getAsInteger(10, legal_vector_width_);
  }

  Pieces Assign(const llvm::Argument& argument) {
    if (argument.hasByValAttr()) return ByVal(argument);
    if (argument.hasNestAttr()) return {{0, 8, Location::kR10, 0}};
    if (argument.hasInAllocaAttr() || argument.hasPreallocatedAttr() || argument.hasSwiftErrorAttr() ||
        argument.hasAttribute(llvm::Attribute::SwiftSelf) || argument.hasAttribute(llvm::Attribute::SwiftAsync))
      return Unknown(argument);
    llvm::Type* type = argument.getType();
    if (type->isPointerTy() || type->isIntegerTy()) return Integer(argument);
    if (type->isX86_FP80Ty()) return {Stack(10, 16, 16)};
    if (type->isHalfTy() || type->isBFloatTy() || type->isFloatTy() || type->isDoubleTy()) {
      const uint32_t size = layout_.getTypeStoreSize(type).getFixedValue();
      return {Vector(size, 8, 8)};
    }
    if (type->isFP128Ty()) return {Vector(16, 16, 16)};
    if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type)) return VectorArgument(argument, *vector);
    if (type->isSized() && layout_.getTypeStoreSize(type).isZero()) return {};
    return Unknown(argument);
  }

 private:
  bool HasFeature(llvm::StringRef feature) const {
    llvm::SmallVector<llvm::StringRef, 32> list;
    features_.split(list, ',');
    return llvm::is_contained(list, feature);
  }

  Pieces Unknown(const llvm::Argument& argument) {
    lost_ = true;
    const llvm::TypeSize size =
        argument.getType()->isSized() ? layout_.getTypeStoreSize(argument.getType()) : llvm::TypeSize::getFixed(0);
    return {{0, size.isScalable() ? 0 : static_cast<uint32_t>(size.getFixedValue()), Location::kUnknown, 0}};
  }

  Piece At(uint32_t size, Location location, uint64_t stack_offset = 0) {
    if (lost_ || stack_offset > UINT16_MAX) location = Location::kUnknown;
    return {0, size, location, location == Location::kStack ? static_cast<uint32_t>(stack_offset) : 0};
  }

  uint64_t AllocateStack(uint64_t size, uint64_t alignment) {
    const uint64_t offset = llvm::alignTo(stack_, alignment);
    stack_ = offset + size;
    return offset;
  }

  Piece Stack(uint32_t size, uint64_t slot, uint64_t alignment) {
    return At(size, Location::kStack, AllocateStack(slot, alignment));
  }

  Piece IntegerWord(uint32_t size) {
    if (integers_ < kIntegerRegisters) return At(size, static_cast<Location>(integers_++));
    return Stack(size, 8, 8);
  }

  Pieces Integer(const llvm::Argument& argument) {
    const uint64_t bits = layout_.getTypeSizeInBits(argument.getType()).getFixedValue();
    const uint32_t size = layout_.getTypeStoreSize(argument.getType()).getFixedValue();
    if (bits <= 64) return {IntegerWord(size)};
    if (bits > 128) return Unknown(argument);
    // Both halves in registers or both on the stack.
    Piece low, high;
    if (integers_ + 1 < kIntegerRegisters) {
      low = IntegerWord(8);
      high = IntegerWord(size - 8);
    } else {
#if LLVM_VERSION_MAJOR < 20
      integers_ = kIntegerRegisters;  // LLVM 19 then gives r9 to no later argument; 22 does
#endif
      low = Stack(8, 8, 16);
      high = Stack(size - 8, 8, 8);
    }
    high.offset = 8;
    return {low, high};
  }

  Piece Vector(uint32_t size, uint64_t slot, uint64_t alignment) {
    if (HasFeature("-sse") || HasFeature("-sse2")) lost_ = true;  // as in kernels: soft floating point
    if (vectors_ < kVectorRegisters)
      return At(size, static_cast<Location>(static_cast<unsigned>(Location::kXmm0) + vectors_++));
    return Stack(size, slot, alignment);
  }

  Pieces VectorArgument(const llvm::Argument& argument, const llvm::FixedVectorType& vector) {
    llvm::Type* element = vector.getElementType();
    const uint64_t bits = layout_.getTypeSizeInBits(argument.getType()).getFixedValue();
    const uint32_t size = layout_.getTypeStoreSize(argument.getType()).getFixedValue();
    const bool whole_bytes =
        element->isIntegerTy() ? element->getIntegerBitWidth() % 8 == 0 && bits % 8 == 0 : element->isFloatingPointTy();
    // A vector shorter than 64 bits may be promoted to wider elements: <2 x i8> is not passed as it lies in memory.
    if (!whole_bytes || vector.getNumElements() == 1 || (element->isIntegerTy() && bits < 64)) return Unknown(argument);
    if (element->isIntegerTy() && bits == 64 && vector.getNumElements() == 2) return {Vector(8, 16, 16)};
    if (bits <= 128) return {Vector(size, 16, 16)};
    const bool one_register =
        (bits == 256 && HasFeature("+avx")) || (bits == 512 && HasFeature("+avx512f") && legal_vector_width_ >= 512);
    if (!one_register) return Unknown(argument);
    // What the upper halves hold is not kept, so the call cannot be made again; its place must be counted all the same.
    Piece piece = Vector(size, bits / 8, bits / 8);
    if (piece.location != Location::kStack) piece.location = Location::kUnknown;
    return {piece};
  }

  Pieces ByVal(const llvm::Argument& argument) {
    llvm::Type* type = argument.getParamByValType();
    const uint32_t size = layout_.getTypeAllocSize(type).getFixedValue();
    uint64_t alignment = std::max<uint64_t>(8, layout_.getABITypeAlign(type).value());
    if (argument.getParamStackAlign())
      alignment = std::max<uint64_t>(8, argument.getParamStackAlign()->value());
    else if (argument.getParamAlign())
      alignment = std::max<uint64_t>(8, argument.getParamAlign()->value());
    const uint64_t start = AllocateStack(llvm::alignTo(size, 8), alignment);
    Pieces pieces;
    for (uint32_t offset = 0; offset < size;) {
      uint32_t step = 8;
      while (step > size - offset) step /= 2;
      Piece piece = At(step, Location::kStack, start + offset);
      piece.offset = offset;
      pieces.push_back(piece);
      offset += step;
    }
    return pieces;
  }

  const llvm::DataLayout& layout_;
  llvm::StringRef features_;
  unsigned legal_vector_width_ = 0;
  unsigned integers_ = 0;
  unsigned vectors_ = 0;
  uint64_t stack_ = 0;
  bool lost_ = false;  // an argument was passed in a way not known here: nothing is certain from there on
};

}  // namespace

std::vector<Pieces> AssignArgumentLocations(const llvm::Function& function) {
  Allocator allocator(function);
  std::vector<Pieces> all;
  all.reserve(function.arg_size());
  for (const llvm::Argument& argument : function.args()) all.push_back(allocator.Assign(argument));
  return all;
}

}  // namespace recrash::pass
