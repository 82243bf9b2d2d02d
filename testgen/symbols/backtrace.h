// From a report and the program's files to the frames that were live, with their arguments.
//
// Frames come from CFI; the arguments of a monitored function from its record (the static map in the program's file),
// all others from DWARF locations as far as they go.
#ifndef RECRASH_TESTGEN_SYMBOLS_BACKTRACE_H_
#define RECRASH_TESTGEN_SYMBOLS_BACKTRACE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/base/result.h"
#include "agent/report/report.h"

namespace recrash {

enum class TypeKind : uint8_t {
  kUnknown,
  kBool,
  kSigned,
  kUnsigned,
  kFloat,
  kCharacter,
  kEnum,
  kPointer,
  kReference,
  kRvalueReference,
  kClass,  // struct, class, union
  kArray,
  kMemberPointer,
  kFunction,
};

struct Enumerator {
  std::string name;
  int64_t value = 0;
};

// A parameter's type as a developer would write it, with what the emitter needs to print a literal of it.
struct Type {
  TypeKind kind = TypeKind::kUnknown;
  std::string name;  // spelled out with qualifiers: "const std::string&", "Tree*", "unsigned long"
  uint64_t size = 0;
  bool is_const = false;   // outermost (after typedefs)
  bool is_signed = false;  // kEnum: of the underlying type
  std::vector<Enumerator> enumerators;
  // kPointer, kReference, kRvalueReference: what it points to (one level is filled, deeper ones have name and kind).
  std::vector<Type> pointee;  // empty or one
};

struct Parameter {
  uint8_t number = 0;        // DWARF's, from 1
  std::string name;          // "this", "" when it has none
  bool is_receiver = false;  // the `this` parameter
  bool artificial = false;
  Type type;
  ValueSource source = ValueSource::kUnknown;
  bool complete = false;       // all bytes of it are known
  std::vector<uint8_t> bytes;  // the value as it was on entry (type.size bytes), when known
  bool indirect = false;       // by value through a pointer: bytes are the object's address
  std::string rendered;        // one line for people: "Tree {root_ = 0x0, size_ = 3}", "\"abc\"", "nullptr", "3"
};

struct Frame {
  uint32_t index = 0;  // innermost is 0; inlined frames count
  TargetAddress pc;    // in this frame (a return address less one, except for the innermost and signal frames)
  std::string module;  // path of the file it lies in
  std::string linkage_name;
  std::string function;  // demangled, "Tree::insert(int)"; "" when there is no symbol
  std::string file;      // of pc (for an inlined frame's caller: of the call)
  uint32_t line = 0;
  std::string declared_file;  // of the function
  uint32_t declared_line = 0;
  bool inlined = false;    // into the next frame that is not
  bool monitored = false;  // has a record
  bool own = false;        // in the program or in a library that is not the system's
  bool is_signal_frame = false;
  TargetAddress entry;     // first instruction; 0 when not known
  TargetAddress entry_sp;  // CFA - 8; 0 for inlined frames
  std::vector<Parameter> parameters;
  std::vector<ReplayWord> words;    // what a call needs; empty for inlined frames
  std::vector<ReplayField> fields;  // of depth 1 and 2
  // Parameters that point to streams, where words has the address.
  std::vector<ReplayStream> streams;
  bool candidate = false;        // every word that the call needs is known
  std::string why_not;           // else one sentence: "the argument `count` was not kept"
  bool holds_bad_value = false;  // an argument of this frame is itself the value that crashes (labelled when generated)
};

struct SymbolOptions {
  std::string program;                    // path; by default the report's own
  std::vector<std::string> search_paths;  // where unstripped twins and libraries may lie
  // Of a deep recursion: half from each end, and what lies outside them. A frame takes 0.3 ms.
  uint32_t max_candidates = 200;
};

struct Backtrace {
  std::vector<Frame> frames;  // of the failing thread, innermost first
  Place place;
  uint32_t skipped = 0;            // frames left out between the two ends, inlined ones counted
  std::vector<std::string> notes;  // "libfoo.so: no unstripped twin found": one sentence each
};

// Fails with kMissing (needed, found, the way out) when the program is not the one that crashed and no file with its
// build-id is found.
Result<Backtrace> ReadBacktrace(const Report& report, const SymbolOptions& options);

// What a replay of `frames` needs beside the report: the frames, the failing place, and the program's own image.
Result<ReplayData> MakeReplayData(const Report& report, const Backtrace& backtrace, const SymbolOptions& options);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_BACKTRACE_H_
