// The section `.recrash_map` of a program: where each monitored function keeps its arguments (shadowstack/abi.h).
//
//   const RecordMap map = ReadRecordMap(*module, notes);
//   const RecordEntry* entry = map.Find(function_start, pc, hashes);  // null: not monitored
//
// The section may come from a damaged file. What does not fit is skipped; nothing is read past the section's end.
#ifndef RECRASH_TESTGEN_SYMBOLS_STACK_RECORD_MAP_H_
#define RECRASH_TESTGEN_SYMBOLS_STACK_RECORD_MAP_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shadowstack/abi.h"
#include "testgen/symbols/files/module_set.h"

namespace recrash {

// A memory operand as the assembler prints it: an offset from a register (DWARF's number of it).
struct Operand {
  int base = -1;
  int64_t offset = 0;
};

// Parses "8(%rsp)", "-56(%rbp)", "(%rbx)", "0x10(%rsp)", "%rsp". Nothing for an index, a symbol or another register.
std::optional<Operand> ParseOperand(std::string_view text);

// Returns true for an argument or a piece of one, false for a copy of a field.
inline bool IsArgument(const abi::MapWord& word) { return word.kind == static_cast<uint8_t>(abi::WordKind::kArgument); }

struct RecordEntry {
  uint64_t label = 0;  // address in the file of the instruction after the stores
  uint64_t function_hash = 0;
  std::optional<Operand> operand;  // where the record lies; nothing if no word is stored
  std::vector<abi::MapWord> words;
};

class RecordMap {
 public:
  RecordMap() = default;
  explicit RecordMap(std::span<const uint8_t> section);

  // Returns the descriptor with the greatest label <= `pc`, of the function that starts at `start`. Without hashes (a
  // stripped file) the first label tells the function: after link-time inlining, labels of others may follow it.
  const RecordEntry* Find(uint64_t start, uint64_t pc, std::span<const uint64_t> hashes) const;
  // Returns the last descriptor of the function at [start, start + size).
  const RecordEntry* FindIn(uint64_t start, uint64_t size, std::span<const uint64_t> hashes) const;

  size_t size() const { return entries_.size(); }
  size_t damaged() const { return damaged_; }  // entries that were skipped

 private:
  std::vector<RecordEntry> entries_;  // by label
  size_t damaged_ = 0;
};

// Returns the map of a module; an empty one if it has none. Adds a note if the map is damaged, or of an older recrash.
RecordMap ReadRecordMap(const LoadedModule& module, std::vector<std::string>& notes);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_STACK_RECORD_MAP_H_
