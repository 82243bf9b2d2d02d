#include "testgen/symbols/dwarf/expression_machine.h"

#include <dwarf.h>

#include <algorithm>

#include "testgen/symbols/dwarf/debug_info.h"

namespace recrash {
namespace {

constexpr int kMaxSteps = 10000;
constexpr size_t kMaxStack = 256;

}  // namespace

bool ExpressionMachine::Run() {
  int steps = 0;
  for (size_t i = 0; i < count_;) {
    if (++steps > kMaxSteps || stack_.size() > kMaxStack) return false;
    size_t next = i + 1;
    if (!Step(ops_[i], next)) return false;
    i = next;
  }
  return true;
}

bool ExpressionMachine::Step(const Dwarf_Op& op, size_t& next) {
  const uint8_t atom = op.atom;
  if (atom >= DW_OP_reg0 && atom <= DW_OP_breg31) return Register(op);
  if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31) return Constant(op);
  if (atom >= DW_OP_const1u && atom <= DW_OP_consts) return Constant(op);
  if (atom >= DW_OP_dup && atom <= DW_OP_rot) return Shuffle(op);
  switch (atom) {
    case DW_OP_addr:
    case DW_OP_addrx:
    case DW_OP_GNU_addr_index:
    case DW_OP_constx:
    case DW_OP_GNU_const_index:
      return Constant(op);
    case DW_OP_regx:
    case DW_OP_bregx:
    case DW_OP_fbreg:
    case DW_OP_call_frame_cfa:
      return Register(op);
    case DW_OP_deref:
    case DW_OP_deref_size:
    case DW_OP_abs:
    case DW_OP_neg:
    case DW_OP_not:
    case DW_OP_plus_uconst:
      return Unary(op);
    case DW_OP_skip:
    case DW_OP_bra:
      return Branch(op, next);
    case DW_OP_nop:
      return true;
    case DW_OP_stack_value:
      is_value_ = true;
      return !stack_.empty();
    case DW_OP_piece:
    case DW_OP_bit_piece:
      return EndPiece(op);
    case DW_OP_implicit_value:
      return ImplicitValue(op);
    case DW_OP_entry_value:
    case DW_OP_GNU_entry_value:
      return EntryValue(op);
    case DW_OP_convert:
    case DW_OP_GNU_convert:
    case DW_OP_reinterpret:
    case DW_OP_GNU_reinterpret:
    case DW_OP_regval_type:
    case DW_OP_GNU_regval_type:
    case DW_OP_deref_type:
    case DW_OP_GNU_deref_type:
    case DW_OP_const_type:
    case DW_OP_GNU_const_type:
      return Typed(op);
    default:
      return Binary(op);
  }
}

bool ExpressionMachine::Constant(const Dwarf_Op& op) {
  if (op.atom >= DW_OP_lit0 && op.atom <= DW_OP_lit31) {
    Push(op.atom - DW_OP_lit0);
    return true;
  }
  if (op.atom == DW_OP_addr) {
    Push(op.number + context_.bias);
    return true;
  }
  const bool is_address = op.atom == DW_OP_addrx || op.atom == DW_OP_GNU_addr_index;
  if (is_address || op.atom == DW_OP_constx || op.atom == DW_OP_GNU_const_index) {
    Dwarf_Attribute indexed;
    Dwarf_Addr address = 0;
    if (context_.attribute == nullptr || dwarf_getlocation_attr(context_.attribute, &op, &indexed) != 0 ||
        dwarf_formaddr(&indexed, &address) != 0)
      return false;
    Push(is_address ? address + context_.bias : address);
    return true;
  }
  Push(op.number);  // libdw has sign-extended the signed ones
  return true;
}

bool ExpressionMachine::Register(const Dwarf_Op& op) {
  if (op.atom == DW_OP_call_frame_cfa || op.atom == DW_OP_fbreg) {
    const bool is_cfa = op.atom == DW_OP_call_frame_cfa;
    const std::optional<TargetAddress>& base = is_cfa ? context_.cfa : context_.frame_base;
    if (base) Push((*base + (is_cfa ? 0 : op.number)).value);
    return base.has_value();
  }
  if (op.atom == DW_OP_regx || op.atom <= DW_OP_reg31) {
    register_ = op.atom == DW_OP_regx ? op.number : op.atom - DW_OP_reg0;
    return true;
  }
  const bool indexed = op.atom == DW_OP_bregx;
  const auto base = context_.registers->Get(indexed ? op.number : op.atom - DW_OP_breg0);
  if (!base) return false;
  Push(*base + (indexed ? op.number2 : op.number));
  return true;
}

bool ExpressionMachine::Shuffle(const Dwarf_Op& op) {
  const size_t size = stack_.size();
  const auto copy = [&](size_t depth) {
    if (depth >= size) return false;
    const StackValue value = stack_[size - 1 - depth];
    stack_.push_back(value);
    return true;
  };
  switch (op.atom) {
    case DW_OP_dup:
      return copy(0);
    case DW_OP_over:
      return copy(1);
    case DW_OP_pick:
      return copy(op.number);
    case DW_OP_drop:
      return Pop().has_value();
    case DW_OP_swap:
      if (size < 2) return false;
      std::swap(stack_[size - 1], stack_[size - 2]);
      return true;
    default:  // DW_OP_rot: the first becomes the third
      if (size < 3) return false;
      std::rotate(stack_.end() - 3, stack_.end() - 1, stack_.end());
      return true;
  }
}

bool ExpressionMachine::Unary(const Dwarf_Op& op) {
  const auto value = Pop();
  if (!value) return false;
  if (op.atom == DW_OP_deref || op.atom == DW_OP_deref_size) {
    const uint64_t size = op.atom == DW_OP_deref ? 8 : op.number;
    return PushOptional(context_.memory->ReadNumber({value->bits}, size));
  }
  stack_.push_back(Calculate(op.atom, *value, op.number));
  return true;
}

bool ExpressionMachine::Binary(const Dwarf_Op& op) {
  const auto right = Pop();
  const auto left = Pop();
  const auto result = left && right ? Calculate(op.atom, *left, *right) : std::nullopt;
  if (result) stack_.push_back(*result);
  return result.has_value();
}

bool ExpressionMachine::Branch(const Dwarf_Op& op, size_t& next) {
  if (op.atom == DW_OP_bra) {
    const auto condition = Pop();
    if (!condition) return false;
    if (condition->bits == 0) return true;
  }
  // From the operation that follows: opcode and two bytes.
  const uint64_t target = op.offset + 3 + static_cast<int16_t>(op.number);
  for (size_t i = 0; i < count_; ++i) {
    if (ops_[i].offset != target) continue;
    next = i;
    return true;
  }
  next = count_;
  return target > ops_[count_ - 1].offset;  // just past the end
}

bool ExpressionMachine::PushTyped(uint64_t bits, const Dwarf_Op& op) {
  Dwarf_Die type;
  if (context_.attribute == nullptr || dwarf_getlocation_die(context_.attribute, &op, &type) != 0) return false;
  const auto size = AttributeNumber(type, DW_AT_byte_size);
  const auto encoding = AttributeNumber(type, DW_AT_encoding);
  if (!size || *size == 0 || *size > 8 || !encoding || *encoding == DW_ATE_float) return false;
  const bool is_signed = *encoding == DW_ATE_signed || *encoding == DW_ATE_signed_char;
  const auto bytes = static_cast<uint8_t>(*size);
  stack_.push_back({Extend(bits, bytes, is_signed), bytes, is_signed, false});
  return true;
}

bool ExpressionMachine::Typed(const Dwarf_Op& op) {
  switch (op.atom) {
    case DW_OP_regval_type:
    case DW_OP_GNU_regval_type: {
      const auto bits = context_.registers->Get(op.number);
      return bits && PushTyped(*bits, op);
    }
    case DW_OP_deref_type:
    case DW_OP_GNU_deref_type: {
      const auto address = Pop();
      if (!address) return false;
      const auto bits = context_.memory->ReadNumber({address->bits}, op.number);
      return bits && PushTyped(*bits, op);
    }
    case DW_OP_const_type:
    case DW_OP_GNU_const_type: {
      Dwarf_Attribute constant;
      Dwarf_Block block;
      if (context_.attribute == nullptr || dwarf_getlocation_attr(context_.attribute, &op, &constant) != 0 ||
          dwarf_formblock(&constant, &block) != 0 || block.length > 8)
        return false;
      return PushTyped(ToUnsigned({block.data, block.length}), op);
    }
    default: {
      const auto value = Pop();
      if (!value) return false;
      if (op.number == 0) {  // back to the generic type
        Push(value->bits);
        return true;
      }
      return PushTyped(value->bits, op);
    }
  }
}

bool ExpressionMachine::EntryValue(const Dwarf_Op& op) {
  Dwarf_Attribute inner;
  Dwarf_Op* ops = nullptr;
  size_t count = 0;
  if (!context_.entry_value || context_.attribute == nullptr ||
      dwarf_getlocation_attr(context_.attribute, &op, &inner) != 0 || dwarf_getlocation(&inner, &ops, &count) != 0)
    return false;
  location_.used_entry_value = true;
  return PushOptional(context_.entry_value(ops, count));
}

bool ExpressionMachine::ImplicitValue(const Dwarf_Op& op) {
  Dwarf_Block block;
  if (context_.attribute == nullptr || dwarf_getlocation_implicit_value(context_.attribute, &op, &block) != 0)
    return false;
  implicit_.emplace(block.data, block.data + block.length);
  return true;
}

Piece ExpressionMachine::TakePiece() {
  Piece piece;
  if (implicit_) {
    piece.kind = Piece::Kind::kValue;
    piece.bytes = std::move(*implicit_);
  } else if (register_) {
    piece.kind = Piece::Kind::kRegister;
    piece.number = *register_;
  } else if (!stack_.empty()) {
    const uint64_t bits = stack_.back().bits;
    if (is_value_) {
      piece.kind = Piece::Kind::kValue;
      piece.bytes = *FirstBytes(bits, sizeof bits);
    } else {
      piece.kind = Piece::Kind::kMemory;
      piece.number = bits;
    }
  }
  implicit_.reset();
  register_.reset();
  stack_.clear();
  is_value_ = false;
  return piece;
}

bool ExpressionMachine::EndPiece(const Dwarf_Op& op) {
  Piece piece = TakePiece();
  if (op.atom == DW_OP_bit_piece) {
    // Bit-fields split over registers: only whole bytes from the start of a place are read.
    if (op.number % 8 != 0 || op.number2 != 0) return false;
    piece.size = op.number / 8;
  } else {
    piece.size = op.number;
  }
  location_.pieces.push_back(std::move(piece));
  return true;
}

}  // namespace recrash
