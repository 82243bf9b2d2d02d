#include "testgen/symbols/dwarf/calling_convention.h"

#include <algorithm>

#include "testgen/symbols/dwarf/eightbytes.h"
#include "testgen/symbols/dwarf/types.h"

namespace recrash {
namespace {

constexpr int kIntegerRegisters = 6;
constexpr int kVectorRegisters = 8;

class Allocator {
 public:
  explicit Allocator(bool result_in_memory) : integers_(result_in_memory ? 1 : 0) {}

  PlacedParameter Place(const Classification& type) {
    PlacedParameter placed;
    placed.indirect = type.by_reference;
    if (type.by_reference) {
      placed.pieces.push_back(Integer(0, 8));
      return placed;
    }
    if (type.eightbytes.empty() && !type.in_memory) return placed;
    // A parameter goes into registers as a whole or not at all. If it does not fit, later parameters get the registers.
    const auto needs = [&](Eightbyte kind) { return std::count(type.eightbytes.begin(), type.eightbytes.end(), kind); };
    if (type.in_memory || integers_ + needs(Eightbyte::kInteger) > kIntegerRegisters ||
        vectors_ + needs(Eightbyte::kSse) > kVectorRegisters) {
      placed.pieces.push_back(Stack(type.size, type.alignment));
      return placed;
    }
    for (size_t i = 0; i < type.eightbytes.size(); ++i) {
      const uint64_t size = std::min<uint64_t>(8, type.size - i * 8);
      if (type.eightbytes[i] == Eightbyte::kInteger) placed.pieces.push_back(Integer(i * 8, size));
      if (type.eightbytes[i] == Eightbyte::kSse) placed.pieces.push_back(Vector(i * 8, size));
      if (type.eightbytes[i] == Eightbyte::kSseUp) placed.pieces.back().size += size;
    }
    return placed;
  }

 private:
  PlacedPiece Integer(uint64_t offset, uint64_t size) {
    if (integers_ >= kIntegerRegisters) return Stack(size, 8);
    return {offset, size, static_cast<abi::Location>(integers_++), 0};
  }
  PlacedPiece Vector(uint64_t offset, uint64_t size) {
    return {offset, size, static_cast<abi::Location>(static_cast<int>(abi::Location::kXmm0) + vectors_++), 0};
  }
  PlacedPiece Stack(uint64_t size, uint64_t alignment) {
    alignment = std::max<uint64_t>(8, alignment);
    const uint64_t offset = (stack_ + alignment - 1) / alignment * alignment;
    stack_ = offset + (size + 7) / 8 * 8;
    return {0, size, abi::Location::kStack, offset};
  }

  int integers_;
  int vectors_ = 0;
  uint64_t stack_ = 0;
};

}  // namespace

std::optional<PlacedCall> PlaceArguments(DebugInfo& debug, std::optional<Dwarf_Die> result,
                                         const std::vector<std::optional<Dwarf_Die>>& parameters) {
  PlacedCall call;
  if (result) {
    const auto classified = Classify(debug, *result);
    if (!classified) return std::nullopt;
    // A long double is returned in st(0), though as an argument it lies in memory.
    call.result_in_memory = classified->by_reference || (classified->in_memory && !classified->x87);
  }
  Allocator allocator(call.result_in_memory);
  for (const auto& parameter : parameters) {
    const auto classified = parameter ? Classify(debug, *parameter) : std::nullopt;
    if (!classified) return std::nullopt;
    call.parameters.push_back(allocator.Place(*classified));
  }
  return call;
}

}  // namespace recrash
