// A frame of a back-trace with its arguments, as plain data: what people, the emitter and replays need of it.
#ifndef RECRASH_TESTGEN_SYMBOLS_STACK_FRAME_H_
#define RECRASH_TESTGEN_SYMBOLS_STACK_FRAME_H_

#include <cstdint>
#include <string>
#include <vector>

#include "agent/report/report.h"
#include "testgen/symbols/dwarf/type.h"

namespace recrash {

struct Parameter {
  uint8_t number = 0;        // DWARF's, from 1
  std::string name;          // "this", "" when it has none
  bool is_receiver = false;  // the `this` parameter
  bool artificial = false;
  Type type;
  ValueSource source = ValueSource::kUnknown;
  bool complete = false;            // all its bytes are known
  std::vector<uint8_t> bytes;       // the value as it was on entry (type.size bytes), when known
  bool indirect = false;            // by value through a pointer: bytes are the object's address
  std::string rendered;             // one line for people: "Tree {root_ = 0x0, size_ = 3}", "\"abc\"", "nullptr", "3"
  bool reaches_dead_stack = false;  // what is shown of it has a pointer to a local of a function that has returned
  std::vector<std::string> lines;   // the same with more of it, over several lines; empty if `rendered` has it all
};

// A variable on the stack of a running function.
struct VariablePlace {
  TargetAddress address;
  uint64_t die = 0;  // its offset in the debug information of the function's module
};

struct Frame {
  uint32_t index = 0;  // innermost is 0; inlined frames count
  TargetAddress pc;    // an address inside the instruction that the frame is at
  std::string module;  // path of the file it lies in
  std::string linkage_name;
  std::string function;  // demangled, "Tree::insert(int)"; "" when there is no symbol
  std::string file;      // the source line of pc; in the caller of an inlined frame, the line of that call
  uint32_t line = 0;
  std::string declared_file;  // of the function
  uint32_t declared_line = 0;
  bool inlined = false;    // into the next frame that is not
  bool monitored = false;  // the function has a descriptor
  bool own = false;        // in the program or in a library that is not the system's
  bool is_signal_frame = false;
  TargetAddress entry;     // first instruction; 0 when not known. Inlined: of a copy out of line; 0 without one
  TargetAddress entry_sp;  // CFA - 8. Inlined: for a call of that copy; 0 when it cannot be called
  // Of an inlined frame: the instruction at which its call begins, and the stack pointer there; 0 when not known.
  TargetAddress inlined_at;
  TargetAddress inlined_sp;
  // Where arguments that have no place at inlined_at get one: later instructions of the same call, with that sp.
  std::vector<TargetAddress> inlined_later;
  std::vector<TargetAddress> inlined_else;  // where the call may begin if inlined_at is not reached
  std::string name_in_twin;  // the linkage name of its function in the twin; empty: linkage_name. Lambdas differ
  std::vector<Parameter> parameters;
  std::vector<ReplayWord> words;    // what a call needs
  std::vector<ReplayField> fields;  // of depth 1 and 2
  // Parameters that point to streams. Only those whose address is among `words`.
  std::vector<ReplayStream> streams;
  std::vector<VariablePlace> variables;  // in scope at pc
  std::vector<std::string> caught;       // mangled types of exceptions that callers catch; "": any
  bool candidate = false;                // every word that the call needs is known
  bool twin_candidate = false;   // the same of an inlined frame without a copy: a twin has its function out of line
  std::string why_not;           // if it is no candidate, why: "the argument `count` was not kept"
  bool changed_call = false;     // as ReplayFrame has it
  bool returns = true;           // false: it is declared never to return
  bool holds_bad_value = false;  // an argument is the value that crashes (bad_value.h)
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_STACK_FRAME_H_
