// Evaluates DWARF expressions and location descriptions in a frame of the report: for CFI, for parameters, for the
// values that a call site says it passed.
//
//   ExpressionContext context = {.memory = &memory, .registers = &frame.registers, .bias = module->bias()};
//   if (const auto location = EvaluateLocation(ops, count, context)) value = ReadLocation(*location, 8, context);
//
// A result is returned only if all its bytes are known. An unknown byte is never guessed.
#ifndef RECRASH_TESTGEN_SYMBOLS_DWARF_EXPRESSION_H_
#define RECRASH_TESTGEN_SYMBOLS_DWARF_EXPRESSION_H_

#include <elfutils/libdw.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "shadowstack/abi.h"
#include "testgen/symbols/files/report_memory.h"

namespace recrash {

using Bytes = std::vector<uint8_t>;

constexpr uint8_t kFirstXmm = 17;  // DWARF's number of xmm0

// Returns the first bytes of an object; nothing if it has fewer.
template <typename T>
std::optional<Bytes> FirstBytes(const T& object, size_t size) {
  if (size > sizeof object) return std::nullopt;
  const auto* bytes = reinterpret_cast<const uint8_t*>(&object);
  return Bytes(bytes, bytes + size);
}

// Returns the first eight bytes, or all if there are fewer, as a number.
inline uint64_t ToUnsigned(std::span<const uint8_t> bytes) {
  uint64_t value = 0;
  std::copy_n(bytes.begin(), std::min(bytes.size(), sizeof value), reinterpret_cast<uint8_t*>(&value));
  return value;
}

// The registers of one frame. Of an outer frame, only those are known that the frames inside it have saved.
class RegisterFile {
 public:
  RegisterFile() = default;
  explicit RegisterFile(const Registers& all) : values_(all.dwarf), known_((1u << abi::kRegisterCount) - 1) {}
  std::optional<uint64_t> Get(uint64_t number) const {
    if (number >= values_.size() || (known_ >> number & 1) == 0) return std::nullopt;
    return values_[number];
  }
  void Set(uint64_t number, uint64_t value) {
    if (number >= values_.size()) return;
    values_[number] = value;
    known_ |= 1u << number;
  }
  std::optional<TargetAddress> sp() const { return Address(7); }
  std::optional<TargetAddress> pc() const { return Address(16); }

 private:
  std::optional<TargetAddress> Address(uint64_t number) const {
    const auto value = Get(number);
    return value ? std::optional(TargetAddress{*value}) : std::nullopt;
  }

  std::array<uint64_t, abi::kRegisterCount> values_{};
  uint32_t known_ = 0;
};

struct ExpressionContext {
  const ReportMemory* memory = nullptr;
  const RegisterFile* registers = nullptr;
  std::span<const uint8_t> fxsave;  // of the innermost frame: xmm registers
  uint64_t bias = 0;
  std::optional<TargetAddress> cfa;
  std::optional<TargetAddress> frame_base;
  // Returns the value that an expression had at the function's entry, as its caller says. May be empty.
  std::function<std::optional<uint64_t>(const Dwarf_Op*, size_t)> entry_value;
  Dwarf_Attribute* attribute = nullptr;  // has the operations; some of them refer to other parts of it
};

// Where a piece of a variable lies. A single piece of size 0 is the whole variable.
struct Piece {
  enum class Kind { kNothing, kMemory, kRegister, kValue };
  Kind kind = Kind::kNothing;
  uint64_t number = 0;  // kMemory: its address; kRegister: DWARF's number
  Bytes bytes;          // kValue
  uint64_t size = 0;
};

struct Location {
  std::vector<Piece> pieces;
  bool used_entry_value = false;
};

// Returns the number that an expression leaves on its stack: a CFA, a value that a call site passes.
std::optional<uint64_t> EvaluateNumber(const Dwarf_Op* ops, size_t count, const ExpressionContext& context);
// Returns where a variable lies.
std::optional<Location> EvaluateLocation(const Dwarf_Op* ops, size_t count, const ExpressionContext& context);
// Returns the bytes at a location; nothing if one of them is not known.
std::optional<Bytes> ReadLocation(const Location& location, size_t size, const ExpressionContext& context);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_DWARF_EXPRESSION_H_
