// Reads the arguments of a frame: from the snapshot of its entry, from its record, from registers at the function's
// first instructions, or from DWARF's locations and its callers' call sites.
#ifndef RECRASH_TESTGEN_SYMBOLS_VALUES_FRAME_VALUES_H_
#define RECRASH_TESTGEN_SYMBOLS_VALUES_FRAME_VALUES_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "agent/report/report.h"
#include "testgen/symbols/dwarf/calling_convention.h"
#include "testgen/symbols/dwarf/expression.h"
#include "testgen/symbols/stack/code_info.h"
#include "testgen/symbols/stack/unwind.h"

namespace recrash {

// The frames, innermost first. A frame's caller is the next one.
struct Stack {
  std::span<const UnwoundFrame> frames;
  std::span<const uint8_t> fxsave;         // of frames[0]; empty when it is not the innermost of all
  std::span<const EntrySnapshot> entries;  // the registers that were seen at entries of frames
};

// A word of a record with its bytes; sizes beyond sixteen bytes are kept whole here.
struct RecordedWord {
  abi::MapWord word{};
  std::vector<uint8_t> bytes;
  ValueSource source = ValueSource::kRecord;
};

struct Recorded {
  bool monitored = false;  // the function has a record
  bool complete = false;   // every word of it was read
  std::string why_not;     // else
  std::vector<RecordedWord> words;
};

class ValueReader {
 public:
  ValueReader(CodeReader& code, Unwinder& unwinder, const ReportMemory& memory, const Stack& stack)
      : code_(code), unwinder_(unwinder), memory_(memory), stack_(stack) {}

  // Returns the words of the frame at `index`, whose function out of line is `live`. A word comes from the record, or
  // from debug information if the descriptor says that it is followed.
  Recorded ReadRecord(size_t index, const CodeInfo& code, const LiveFunction& live);

  // Which callers are believed about what they passed, if the frame itself has lost a value. kSure: only a caller whose
  // call leads straight to the frame's function. kAny: also one whose call was indirect and may have led there.
  enum class Callers { kSure, kAny };

  // Returns a parameter's value at the frame's pc, from DWARF's location.
  std::optional<std::vector<uint8_t>> AtPc(size_t index, const CodeInfo& code, Dwarf_Die variable, uint64_t size,
                                           Callers callers = Callers::kAny);

  // Returns the address at which the parameter lies at the frame's pc, as eight bytes.
  std::optional<std::vector<uint8_t>> AddressAtPc(size_t index, const CodeInfo& code, Dwarf_Die variable);
  // Returns what lay at an argument's place when the function was entered: from the snapshot of the entry, the caller's
  // call site, or the stack.
  std::optional<std::vector<uint8_t>> PieceAtEntry(size_t index, const CodeInfo& code, const PlacedPiece& piece,
                                                   Callers callers);

 private:
  std::optional<uint64_t> AtEntry(size_t index, const Dwarf_Op* ops, size_t count, Callers callers, int depth);
  // Returns the variable's location at `address` of the file. `from_here`: only a location that begins there.
  std::optional<Location> LocationAt(size_t index, const CodeInfo& code, Dwarf_Die variable, uint64_t address,
                                     Callers callers, bool from_here = false);
  bool CallReturns(size_t index, const CodeInfo& code);
  ExpressionContext Context(size_t index, const CodeInfo& code, Callers callers, int depth);
  std::optional<uint64_t> FrameBase(const CodeInfo& code, uint64_t address, const ExpressionContext& context);
  std::optional<TargetAddress> RecordAddress(const UnwoundFrame& frame, const RecordEntry& entry, uint64_t bias);
  bool IsBeforeStores(const UnwoundFrame& frame, TargetAddress function, const RecordEntry& entry, uint64_t bias);
  // From the snapshot of the frame's entry.
  std::optional<std::vector<uint8_t>> AtRecordedEntry(size_t index, const CodeInfo& code, abi::Location location,
                                                      uint64_t size);
  // Returns a followed word, from debug information at the frame's pc.
  std::optional<std::vector<uint8_t>> Followed(size_t index, const CodeInfo& code, const LiveFunction& live,
                                               const abi::MapWord& word, Callers callers);
  // The word in the record.
  std::optional<std::vector<uint8_t>> Stored(const abi::MapWord& word, std::optional<TargetAddress> record);
  std::optional<RecordedWord> ReadWord(size_t index, const CodeInfo& code, const LiveFunction& live,
                                       const abi::MapWord& word, std::optional<TargetAddress> record,
                                       bool before_stores);
  bool CopiesWereMade(size_t index, const CodeInfo& code, const LiveFunction& live, const RecordEntry& entry,
                      std::optional<TargetAddress> record);
  std::optional<std::vector<uint8_t>> AtFirstInstructions(size_t index, abi::Location location, uint64_t stack_offset,
                                                          uint64_t size);

  CodeReader& code_;
  Unwinder& unwinder_;
  const ReportMemory& memory_;
  const Stack& stack_;
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_VALUES_FRAME_VALUES_H_
