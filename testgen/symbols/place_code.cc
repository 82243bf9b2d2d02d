#include "testgen/symbols/place_code.h"

#include <algorithm>
#include <map>
#include <utility>

#include "agent/base/text.h"
#include "testgen/symbols/dwarf/function_code.h"
#include "testgen/symbols/dwarf/plain_function.h"
#include "testgen/symbols/place_copies.h"

namespace recrash {
namespace {

// Bound what a hostile program can ask for.
constexpr size_t kMostRows = 20'000;
constexpr size_t kMostInstructions = 1024;
constexpr size_t kMostCode = 1 << 16;
constexpr size_t kLongestInstruction = 15;

// Code of the function, cut at the rows of the line table.
struct Piece {
  TargetAddress start, end;
  uint32_t line = 0;
  uint32_t declared = 0;  // the line that declares the function
  uint32_t copy = 0;
};

// Reads all code of one function of the source.
class PieceReader {
 public:
  PieceReader(const SourceFrame& function, const Symbols& symbols) : function_(function), symbols_(symbols) {
    for (const Module& module : symbols.modules().modules()) {
      const LoadedModule* loaded = symbols.modules().Find(module.base);
      DebugInfo* debug = loaded && loaded->own ? symbols.code().DebugOf(loaded) : nullptr;
      if (debug) Read(*debug, loaded->bias());
    }
  }
  const std::vector<Piece>& pieces() const { return pieces_; }

 private:
  void Read(DebugInfo& debug, uint64_t bias) {
    const std::string& name = function_.function;
    const size_t scope = name.rfind("::");
    for (const FunctionCode& code :
         CodeWith(debug, scope == std::string::npos ? name : name.substr(scope + 2), function_.file)) {
      std::vector<uint64_t> rows = debug.RowsIn(code.low, code.high);
      rows.push_back(code.high);
      for (size_t i = 0; i + 1 < rows.size() && pieces_.size() < kMostRows; ++i)
        Add({rows[i] + bias}, {rows[i + 1] + bias}, code.function);
    }
  }

  void Add(TargetAddress start, TargetAddress end, Dwarf_Off out_of_line) {
    const CodeInfo& code = symbols_.code().At(start);
    // Code of the standard library that was inlined counts as the line that called it.
    const auto innermost =
        std::ranges::find_if(code.live, [](const LiveFunction& live) { return !IsSystemsFile(live.declared.file); });
    if (innermost == code.live.end() || SourceName(innermost->function) != function_.function ||
        BaseName(innermost->at.file) != function_.file)
      return;
    const void* call = innermost->inlined ? innermost->die.addr : nullptr;
    const auto copy = copies_.try_emplace({out_of_line, call}, copies_.size()).first->second;
    pieces_.push_back({start, end, innermost->at.line, innermost->declared.line, static_cast<uint32_t>(copy)});
  }

  const SourceFrame& function_;
  const Symbols& symbols_;
  std::vector<Piece> pieces_;
  std::map<std::pair<Dwarf_Off, const void*>, size_t> copies_;
};

void AddInstructions(const Piece& piece, bool is_place, const Symbols& symbols, std::vector<PlaceInstruction>& into) {
  std::vector<uint8_t> code(std::min<uint64_t>(piece.end - piece.start, kMostCode));
  if (!symbols.modules().ReadFile(piece.start, code)) return;
  for (size_t at = 0; at < code.size() && into.size() < kMostInstructions;) {
    const std::span<const uint8_t> rest = std::span<const uint8_t>(code).subspan(at);
    const watch::Instruction instruction =
        watch::DecodeInstruction(rest.data(), std::min(rest.size(), kLongestInstruction), 0);
    const auto access = MemoryAccessOf(rest, instruction);
    // The first one of the place is there to be counted.
    if ((at == 0 && is_place) || access) into.push_back({piece.start + at, piece.line, is_place, piece.copy, access});
    if (instruction.size == 0) return;
    at += instruction.size;
  }
}

}  // namespace

PlaceCode FindPlaceCode(const ReplayData& recorded, const Symbols& symbols) {
  PlaceCode found;
  const Place& place = recorded.place;
  if (place.chain.empty() || BaseName(place.file) != place.chain.front().file) return found;
  if (place.declared == 0 || place.line < place.declared) return found;
  const uint32_t distance = place.line - place.declared;
  const PieceReader reader(place.chain.front(), symbols);
  const auto is_place = [&](const Piece& piece) {
    return piece.declared != 0 && piece.line == piece.declared + distance;
  };
  const auto first = std::ranges::find_if(reader.pieces(), is_place);
  if (first == reader.pieces().end()) return found;
  // Overloads are told apart by their lines alone.
  for (const Piece& piece : reader.pieces())
    if (piece.declared != first->declared) return found;
  for (const bool now : {true, false})
    for (const Piece& piece : reader.pieces())
      if (is_place(piece) == now) AddInstructions(piece, now, symbols, found.instructions);
  found.where = place.chain.front().file + ":" + std::to_string(first->line);
  std::ranges::sort(found.instructions, {}, &PlaceInstruction::at);
  const auto same = std::ranges::unique(found.instructions, {}, &PlaceInstruction::at);
  found.instructions.erase(same.begin(), same.end());
  return found;
}

}  // namespace recrash
