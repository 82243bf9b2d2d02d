#include "testgen/symbols/dwarf/expression.h"

#include <algorithm>

#include "testgen/symbols/dwarf/expression_machine.h"

namespace recrash {
namespace {

std::optional<Bytes> RegisterBytes(uint64_t number, size_t size, const ExpressionContext& context) {
  if (number >= kFirstXmm && number < kFirstXmm + 16) {
    // FXSAVE keeps xmm0 at byte 160, sixteen bytes each.
    const size_t offset = 160 + (number - kFirstXmm) * 16;
    if (size > 16 || context.fxsave.size() < offset + 16) return std::nullopt;
    return Bytes(context.fxsave.begin() + offset, context.fxsave.begin() + offset + size);
  }
  const auto bits = context.registers->Get(number);
  return bits ? FirstBytes(*bits, size) : std::nullopt;
}

std::optional<Bytes> PieceBytes(const Piece& piece, size_t size, const ExpressionContext& context) {
  switch (piece.kind) {
    case Piece::Kind::kNothing:
      return std::nullopt;
    case Piece::Kind::kRegister:
      return RegisterBytes(piece.number, size, context);
    case Piece::Kind::kMemory: {
      Bytes bytes(size);
      if (!context.memory->Read({piece.number}, bytes)) return std::nullopt;
      return bytes;
    }
    case Piece::Kind::kValue: {
      Bytes bytes = piece.bytes;
      if (bytes.size() < size) return std::nullopt;
      bytes.resize(size);
      return bytes;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<uint64_t> EvaluateNumber(const Dwarf_Op* ops, size_t count, const ExpressionContext& context) {
  ExpressionMachine machine(ops, count, context);
  if (!machine.Run()) return std::nullopt;
  return machine.Top();
}

std::optional<Location> EvaluateLocation(const Dwarf_Op* ops, size_t count, const ExpressionContext& context) {
  ExpressionMachine machine(ops, count, context);
  if (count == 0 || !machine.Run()) return std::nullopt;
  Location location = std::move(machine.location());
  if (location.pieces.empty()) location.pieces.push_back(machine.TakePiece());
  return location;
}

std::optional<Bytes> ReadLocation(const Location& location, size_t size, const ExpressionContext& context) {
  Bytes bytes;
  for (const Piece& piece : location.pieces) {
    if (bytes.size() >= size) break;
    const size_t left = size - bytes.size();
    const auto part = PieceBytes(piece, piece.size == 0 ? left : std::min<size_t>(piece.size, left), context);
    if (!part) return std::nullopt;
    bytes.insert(bytes.end(), part->begin(), part->end());
  }
  if (bytes.size() != size) return std::nullopt;
  return bytes;
}

}  // namespace recrash
