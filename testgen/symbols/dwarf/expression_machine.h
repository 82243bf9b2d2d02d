// The stack machine that runs the operations of one DWARF expression. Only expression.cc uses it.
#ifndef RECRASH_TESTGEN_SYMBOLS_DWARF_EXPRESSION_MACHINE_H_
#define RECRASH_TESTGEN_SYMBOLS_DWARF_EXPRESSION_MACHINE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "testgen/symbols/dwarf/expression.h"
#include "testgen/symbols/dwarf/expression_arithmetic.h"

namespace recrash {

class ExpressionMachine {
 public:
  ExpressionMachine(const Dwarf_Op* ops, size_t count, const ExpressionContext& context)
      : ops_(ops), count_(count), context_(context) {}

  // Runs all operations. Returns false if one cannot be run: it is unknown, or needs a value that is not known.
  bool Run();
  void Push(uint64_t bits) { stack_.push_back({bits}); }
  std::optional<uint64_t> Top() const { return stack_.empty() ? std::nullopt : std::optional(stack_.back().bits); }
  Location& location() { return location_; }
  // Returns the place that the operations since the last piece left on the stack or named, and forgets it.
  Piece TakePiece();

 private:
  bool Step(const Dwarf_Op& op, size_t& next);
  bool Constant(const Dwarf_Op& op);
  bool Register(const Dwarf_Op& op);
  bool Shuffle(const Dwarf_Op& op);
  bool Unary(const Dwarf_Op& op);
  bool Binary(const Dwarf_Op& op);
  bool Branch(const Dwarf_Op& op, size_t& next);
  bool Typed(const Dwarf_Op& op);
  bool EntryValue(const Dwarf_Op& op);
  bool ImplicitValue(const Dwarf_Op& op);
  bool EndPiece(const Dwarf_Op& op);
  bool PushTyped(uint64_t bits, const Dwarf_Op& op);
  bool PushOptional(std::optional<uint64_t> bits) {
    if (!bits) return false;
    Push(*bits);
    return true;
  }
  std::optional<StackValue> Pop() {
    if (stack_.empty()) return std::nullopt;
    const StackValue value = stack_.back();
    stack_.pop_back();
    return value;
  }

  const Dwarf_Op* ops_;
  size_t count_;
  const ExpressionContext& context_;
  std::vector<StackValue> stack_;
  std::optional<uint64_t> register_;
  std::optional<Bytes> implicit_;
  bool is_value_ = false;
  Location location_;
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_DWARF_EXPRESSION_MACHINE_H_
