#include "testgen/symbols/values/dwarf_call.h"

#include <dwarf.h>

#include <algorithm>

#include "testgen/symbols/values/recorded_call.h"

namespace recrash {
namespace {

// Returns the word of a call that passes the beginning of the piece.
ReplayWord WordAt(const PlacedPiece& piece, uint8_t parameter) {
  ReplayWord word;
  word.location = piece.location;
  word.stack_offset = static_cast<uint16_t>(piece.stack_offset);
  word.parameter = parameter;
  word.source_offset = static_cast<uint16_t>(piece.offset);
  word.source = ValueSource::kDwarf;
  return word;
}

// Returns the parameter's value at the entry, its pieces in order; nothing if a piece is not known.
std::optional<Bytes> EntryValue(ValueReader& values, const ParameterInfo& info, const PlacedParameter& placed,
                                ValueReader::Callers callers) {
  const uint64_t size = placed.indirect ? 8 : info.described.type.size;
  Bytes bytes(size);
  std::optional<Bytes> at_pc;
  if (info.has_die) at_pc = placed.indirect ? values.AddressAtPc(info.die) : values.AtPc(info.die, size, callers);
  for (const PlacedPiece& piece : placed.pieces) {
    if (piece.offset + piece.size > size) return std::nullopt;
    auto part = values.PieceAtEntry(piece, callers);
    if (!part && at_pc)
      part.emplace(at_pc->begin() + static_cast<ptrdiff_t>(piece.offset),
                   at_pc->begin() + static_cast<ptrdiff_t>(piece.offset + piece.size));
    if (!part) return std::nullopt;
    std::copy(part->begin(), part->end(), bytes.begin() + static_cast<ptrdiff_t>(piece.offset));
  }
  return bytes;
}

}  // namespace

std::string ParameterName(const Parameter& parameter) {
  if (!parameter.name.empty()) return "`" + parameter.name + "`";
  return "number " + std::to_string(parameter.number);
}

bool IsUnused(const ParameterInfo& parameter) {
  Dwarf_Die die = parameter.die;
  Dwarf_Attribute attribute;
  return !parameter.has_die || (dwarf_attr(&die, DW_AT_location, &attribute) == nullptr &&
                                dwarf_attr(&die, DW_AT_const_value, &attribute) == nullptr);
}

void AppendPieces(const PlacedParameter& placed, uint8_t parameter, std::span<const uint8_t> bytes,
                  std::vector<ReplayWord>& words) {
  for (const PlacedPiece& piece : placed.pieces)
    AppendWords(WordAt(piece, parameter), bytes.subspan(piece.offset, piece.size), words);
}

namespace {

bool IsStaticInitialiser(const std::string& name) {
  return name.starts_with("_GLOBAL__sub_I_") || name.starts_with("__cxx_global_var_init");
}

}  // namespace

DwarfCall CallFromDwarf(ValueReader& values, std::vector<Parameter>& parameters) {
  DwarfCall call;
  const LiveFunction& function = values.function();
  // With -g1 or -gline-tables-only, functions have names and inlined calls, but no line of their own and no parameters.
  // So have static initialisers, which indeed take none.
  if (function.declared.line == 0 && parameters.empty() && !IsStaticInitialiser(function.linkage_name)) {
    call.why_not = "it has no record, and its debug information has lines only";
    return call;
  }
  const auto places = PlacesOf(*values.code().debug, function);
  if (!places) {
    call.why_not = "it has no record, and how its arguments are passed is not known";
    return call;
  }
  call.complete = true;
  if (places->result_in_memory) {
    const PlacedPiece piece{0, 8, abi::Location::kRdi, 0};
    const auto bytes = values.PieceAtEntry(piece, ValueReader::Callers::kAny);
    if (bytes) AppendWords(WordAt(piece, 0), *bytes, call.words);
    if (!bytes) call.why_not = "it has no record, and where its result goes is not known";
    call.complete = bytes.has_value();
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    Parameter& parameter = parameters[i];
    const ParameterInfo& info = function.parameters[i];
    const PlacedParameter& placed = places->parameters[i];
    if (IsUnused(info)) continue;
    auto bytes = EntryValue(values, info, placed, ValueReader::Callers::kSure);
    if (!bytes) bytes = EntryValue(values, info, placed, ValueReader::Callers::kAny);
    if (!bytes && parameter.is_receiver) bytes = values.VirtualReceiver();
    if (bytes) {
      parameter.bytes = *bytes;
      parameter.indirect = placed.indirect;
      parameter.complete = true;
      parameter.source = ValueSource::kDwarf;
      AppendPieces(placed, parameter.number, *bytes, call.words);
      continue;
    }
    call.complete = false;
    if (call.why_not.empty())
      call.why_not = "it has no record, and the argument " + ParameterName(parameter) + " was not kept";
  }
  return call;
}

}  // namespace recrash
