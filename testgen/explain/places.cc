#include "testgen/explain/places.h"

#include <dwarf.h>

#include <algorithm>
#include <sstream>

#include "testgen/explain/machine_code.h"
#include "testgen/symbols/dwarf/plain_function.h"
#include "testgen/symbols/source_chain.h"
#include "testgen/symbols/stack/argument_places.h"
#include "testgen/symbols/surroundings.h"
#include "testgen/symbols/twin.h"

namespace recrash::explain {
namespace {

constexpr uint64_t kLargestFunction = 1 << 20;
constexpr int kMostTypedefs = 8;

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string Trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\r");
  if (begin == text.npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin);
}

uint8_t RegisterAt(abi::Location location) {
  constexpr uint8_t kIntegers[] = {kRdi, kRsi, kRdx, kRcx, 8, 9};
  const auto number = static_cast<size_t>(location);
  if (number < std::size(kIntegers)) return kIntegers[number];
  const size_t vector = number - static_cast<size_t>(abi::Location::kXmm0);
  return vector < 8 ? static_cast<uint8_t>(kFirstVector + vector) : kNone;
}

}  // namespace

SourceSpot SourceOf::At(uint64_t pc) {
  const CodeInfo& code = symbols_.code().At(TargetAddress{pc});
  if (!code.module || !code.module->own) return {};
  for (const LiveFunction& live : code.live)
    if (IsOfSource(live)) {
      SourceSpot spot{PlainFunction(live.function), live.at.file, live.at.line};
      // By any line of the function the source is found.
      if (!sources_.contains(spot.file)) {
        const auto text = CompiledSource(symbols_, TargetAddress{pc}, spot.file);
        sources_[spot.file] = text ? LinesOf(*text) : std::vector<std::string>();
      }
      return spot;
    }
  return {};
}

std::string SourceOf::FunctionAt(uint64_t pc) {
  const CodeInfo& code = symbols_.code().At(TargetAddress{pc});
  return code.live.empty() ? "" : PlainFunction(code.live.back().function);
}

bool SourceOf::IsOwnModule(uint64_t pc) {
  const CodeInfo& code = symbols_.code().At(TargetAddress{pc});
  return code.module && code.module->own;
}

uint64_t SourceOf::EntryOf(uint64_t pc) { return symbols_.code().At(TargetAddress{pc}).entry.value; }

const CodeGraph* SourceOf::GraphAround(uint64_t pc) {
  const CodeInfo& code = symbols_.code().At(TargetAddress{pc});
  if (!code.module || !code.range || code.range->size > kLargestFunction) return nullptr;
  const uint64_t begin = code.range->start + code.module->bias();
  const auto [found, is_new] = graphs_.try_emplace(begin);
  if (is_new) {
    std::vector<uint8_t> bytes(code.range->size);
    if (symbols_.modules().ReadFile(TargetAddress{begin}, bytes)) found->second.emplace(bytes, begin);
  }
  return found->second ? &*found->second : nullptr;
}

SourceOf::Passed SourceOf::ParameterIn(uint64_t entry, uint8_t reg) {
  const CodeInfo& code = symbols_.code().At(TargetAddress{entry});
  if (!code.debug || code.live.empty()) return {};
  // An optimiser may have dropped one, and moved the others up.
  if (TakesArgumentsAsUsual(code) == false) return {};
  const LiveFunction& function = code.live.back();
  const std::optional<PlacedCall> places = PlacesOf(*code.debug, function);
  if (!places) return {};
  for (size_t i = 0; i < places->parameters.size(); ++i) {
    const std::vector<PlacedPiece>& pieces = places->parameters[i].pieces;
    if (pieces.size() != 1 || RegisterAt(pieces[0].location) != reg) continue;
    const Parameter& parameter = function.parameters[i].described;
    return {parameter.name, parameter.type.is_address()};
  }
  return {};
}

bool SourceOf::ReturnsAddress(uint64_t entry) {
  const CodeInfo& code = symbols_.code().At(TargetAddress{entry});
  if (!code.debug || code.live.empty()) return false;
  Dwarf_Die function = code.live.back().die;
  std::optional<Dwarf_Die> type = AttributeDie(function, DW_AT_type);
  for (int i = 0; type && i < kMostTypedefs; ++i) {
    const int tag = dwarf_tag(&*type);
    if (tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type) return true;
    if (tag != DW_TAG_typedef && tag != DW_TAG_const_type) return false;
    type = AttributeDie(*type, DW_AT_type);
  }
  return false;
}

std::string SourceOf::Line(const SourceSpot& spot) {
  const auto found = sources_.find(spot.file);
  if (found == sources_.end() || spot.line == 0 || spot.line > found->second.size()) return "";
  return Trimmed(found->second[spot.line - 1]);
}

Excerpt SourceOf::Around(const SourceSpot& spot, uint32_t lines) {
  const auto found = sources_.find(spot.file);
  if (found == sources_.end() || spot.line == 0 || spot.line > found->second.size()) return {};
  const uint64_t first = spot.line > lines ? spot.line - lines : 1;
  const uint64_t last = std::min<uint64_t>(uint64_t{spot.line} + lines, found->second.size());
  const auto begin = found->second.begin();
  return {static_cast<uint32_t>(first),
          {begin + static_cast<ptrdiff_t>(first - 1), begin + static_cast<ptrdiff_t>(last)}};
}

}  // namespace recrash::explain
