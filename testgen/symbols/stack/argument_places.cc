#include "testgen/symbols/stack/argument_places.h"

#include <dwarf.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

#include "testgen/symbols/dwarf/expression.h"

namespace recrash {
namespace {

bool IsOfClang(const CodeInfo& code) {
  Dwarf_Die unit = code.scopes->unit;
  Dwarf_Attribute attribute;
  const char* producer = dwarf_formstring(dwarf_attr(&unit, DW_AT_producer, &attribute));
  return producer && std::string_view(producer).find("clang") != std::string_view::npos;
}

enum class Lies { kUnknown, kAsUsual, kElsewhere };

// An operation of a location at the function's first instruction.
Lies LiesBy(const Dwarf_Op& op, const PlacedParameter& placed) {
  constexpr uint64_t kFramePointer = 6, kStackPointer = 7;
  const bool based = (op.atom >= DW_OP_breg0 && op.atom <= DW_OP_breg31) || op.atom == DW_OP_bregx;
  uint64_t number = op.number;
  if (op.atom >= DW_OP_reg0 && op.atom <= DW_OP_reg31)
    number = op.atom - DW_OP_reg0;
  else if (op.atom >= DW_OP_breg0 && op.atom <= DW_OP_breg31)
    number = op.atom - DW_OP_breg0;
  else if (op.atom == DW_OP_fbreg || op.atom == DW_OP_call_frame_cfa)
    return Lies::kAsUsual;  // the function's own copy, or an argument on the stack
  else if (op.atom != DW_OP_regx && op.atom != DW_OP_bregx)
    return Lies::kUnknown;
  if (based && (number == kFramePointer || number == kStackPointer)) return Lies::kAsUsual;
  const bool is_usual = std::ranges::any_of(
      placed.pieces, [&](const PlacedPiece& piece) { return DwarfNumber(piece.location) == number; });
  return is_usual ? Lies::kAsUsual : Lies::kElsewhere;
}

Lies LiesAt(const ParameterInfo& info, const PlacedParameter& placed, uint64_t entry) {
  Dwarf_Die die = info.die;
  Dwarf_Attribute attribute;
  Dwarf_Op* ops = nullptr;
  size_t count = 0;
  if (!info.has_die || dwarf_attr(&die, DW_AT_location, &attribute) == nullptr ||
      dwarf_getlocation_addr(&attribute, entry, &ops, &count, 1) != 1)
    return Lies::kUnknown;
  for (size_t i = 0; i < count; ++i)
    if (const Lies lies = LiesBy(ops[i], placed); lies != Lies::kUnknown) return lies;
  return Lies::kUnknown;
}

}  // namespace

std::optional<uint8_t> DwarfNumber(abi::Location location) {
  constexpr uint8_t kIntegers[] = {5, 4, 1, 2, 8, 9, 10};  // of kRdi … kR10
  const auto number = static_cast<size_t>(location);
  if (number < std::size(kIntegers)) return kIntegers[number];
  const size_t xmm = number - static_cast<size_t>(abi::Location::kXmm0);
  return xmm < 8 ? std::optional<uint8_t>(kFirstXmm + xmm) : std::nullopt;
}

std::optional<PlacedCall> PlacesOf(DebugInfo& debug, const LiveFunction& function) {
  Dwarf_Die die = function.die;
  if (AttributeNumber(die, DW_AT_calling_convention) == static_cast<uint64_t>(DW_CC_nocall)) return std::nullopt;
  std::vector<std::optional<Dwarf_Die>> types;
  for (const ParameterInfo& parameter : function.parameters) types.push_back(parameter.type);
  return PlaceArguments(debug, AttributeDie(die, DW_AT_type), types);
}

std::optional<bool> TakesArgumentsAsUsual(const CodeInfo& code) {
  if (!code.scopes || !code.debug || code.live.empty()) return std::nullopt;
  const LiveFunction& function = code.live.back();
  const auto places = PlacesOf(*code.debug, function);
  if (!places) return false;
  const bool is_clang = IsOfClang(code);
  for (size_t i = 0; i < function.parameters.size(); ++i) {
    if (places->parameters[i].pieces.empty()) continue;
    const Lies lies = LiesAt(function.parameters[i], places->parameters[i], code.scopes->entry);
    // One that is just dropped is seen by those behind it. A pointer may have become what it points to.
    const bool must_be_known = is_clang && function.parameters[i].described.type.is_address();
    if (lies == Lies::kElsewhere || (lies == Lies::kUnknown && must_be_known)) return false;
  }
  return true;
}

}  // namespace recrash
