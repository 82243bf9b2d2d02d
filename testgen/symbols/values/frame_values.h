// Reads the arguments of a frame: from its entry state, from its record, from registers at the function's
// first instructions, or from DWARF's locations and its callers' call sites.
//
//   ValueReader values(code, unwinder, memory, stack, 0);  // of the innermost frame
//   const Recorded recorded = values.ReadRecord();
//   if (recorded.complete) frame.words = CallWords(recorded.words);
//
// A value is returned only if all its bytes are known.
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
  std::span<const uint8_t> fxsave;     // of frames[0]; empty when it is not the innermost of all
  std::span<const EntryState> states;  // have the registers at entries of frames
};

// A word of a record with its bytes; sizes beyond sixteen bytes are kept whole here.
struct RecordedWord {
  abi::MapWord word{};
  Bytes bytes;
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
  // Reads values of the frame at `index` of `stack`, which must outlive the reader.
  ValueReader(CodeReader& code_reader, Unwinder& unwinder, const ReportMemory& memory, const Stack& stack, size_t index)
      : code_reader_(code_reader),
        unwinder_(unwinder),
        memory_(memory),
        stack_(stack),
        index_(index),
        frame_(stack.frames[index]),
        code_(code_reader.At(frame_.lookup_pc())) {}

  // Returns what lies at the frame's pc.
  const CodeInfo& code() const { return code_; }
  TargetAddress lookup_pc() const { return frame_.lookup_pc(); }
  // Returns the frame's function, into which others may have been inlined.
  const LiveFunction& function() const;

  // Returns the words of the function's record. A word comes from the record, or from debug information if the
  // descriptor says that it is followed.
  Recorded ReadRecord();

  // Which callers are believed about what they passed, if the frame itself has lost a value. kSure: only a caller whose
  // call leads straight to the frame's function. kAny: also one whose call was indirect and may have led there.
  enum class Callers { kSure, kAny };

  // Returns a parameter's value at the frame's pc, from DWARF's location.
  std::optional<Bytes> AtPc(Dwarf_Die variable, uint64_t size, Callers callers = Callers::kAny);
  // Returns the address at which the parameter lies at the frame's pc, as eight bytes.
  std::optional<Bytes> AddressAtPc(Dwarf_Die variable);
  // Returns DWARF's number of the register in which the parameter lies at the frame's pc, if it lies in one.
  std::optional<uint8_t> RegisterAtPc(Dwarf_Die variable);
  // Returns the object that a virtual function was called on, as its caller keeps it (virtual_receiver.h).
  std::optional<Bytes> VirtualReceiver();
  // Returns what lay at an argument's place when the function was entered: from the entry state, the caller's
  // call site, or the stack.
  std::optional<Bytes> PieceAtEntry(const PlacedPiece& piece, Callers callers);

 private:
  // Returns what the caller passed at the place that `place` names.
  std::optional<uint64_t> FromCaller(const Dwarf_Op& place, Callers callers, int depth);
  // Returns the variable's location at `address` of the file. `from_here`: only a location that begins there.
  std::optional<Location> LocationAt(Dwarf_Die variable, uint64_t address, Callers callers, bool from_here = false);
  bool CallReturns();
  ExpressionContext Context(Callers callers, int depth);
  std::optional<TargetAddress> FrameBase(const ExpressionContext& context);
  std::optional<TargetAddress> RecordAddress(const RecordEntry& entry);
  bool IsBeforeStores(const RecordEntry& entry);
  // From the registers of the frame's entry state.
  std::optional<Bytes> AtRecordedEntry(abi::Location location, uint64_t size);
  std::optional<Bytes> AtFirstInstructions(abi::Location location, uint64_t stack_offset, uint64_t size);
  // Returns a followed word, from debug information at the frame's pc.
  std::optional<Bytes> Followed(const abi::MapWord& word, Callers callers);
  // Returns the word in the record.
  std::optional<Bytes> Stored(const abi::MapWord& word, std::optional<TargetAddress> record);
  std::optional<RecordedWord> ReadWord(const abi::MapWord& word, std::optional<TargetAddress> record,
                                       bool before_stores);
  bool CopiesWereMade(const RecordEntry& entry, std::optional<TargetAddress> record);

  CodeReader& code_reader_;
  Unwinder& unwinder_;
  const ReportMemory& memory_;
  const Stack& stack_;
  const size_t index_;
  const UnwoundFrame& frame_;
  const CodeInfo& code_;
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_VALUES_FRAME_VALUES_H_
