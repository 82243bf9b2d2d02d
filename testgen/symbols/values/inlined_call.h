// Finds out how to call a function that was inlined. What is called is a copy of it out of line, which takes its
// arguments where the ABI says; the inlined call had them wherever the compiler liked.
//
//   const InlinedCall call = FindInlinedCall(code, unwinder, around, live);
//   if (call.why_not.empty()) words = CallOfInlined({&at_its_entry, &at_the_crash}, live, call, nullptr,
//   parameters).words;
#ifndef RECRASH_TESTGEN_SYMBOLS_VALUES_INLINED_CALL_H_
#define RECRASH_TESTGEN_SYMBOLS_VALUES_INLINED_CALL_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "testgen/symbols/dwarf/calling_convention.h"
#include "testgen/symbols/stack/code_info.h"
#include "testgen/symbols/values/dwarf_call.h"
#include "testgen/symbols/values/frame_values.h"

namespace recrash {

// Where a call of an inlined function has its stack. The function around it goes on with its own stack frame in memory,
// and arguments may refer to its locals. So the call's stack lies below.
struct InlinedLayout {
  TargetAddress entry_sp;
  uint64_t result = 0;            // offset from entry_sp + 8 of the place for a result in memory
  std::vector<uint64_t> objects;  // the same for each parameter: of the object, if its address is passed
  uint64_t spare = 0;             // the same of room for objects that arguments from elsewhere refer to
  uint64_t spare_size = 0;
};

// Arguments that are known from elsewhere: a twin was given them. They are exact, whereas what debug information gives
// at the beginning of an inlined call may be what the optimiser made of it.
class OtherArguments {
 public:
  virtual ~OtherArguments() = default;
  // Objects that arguments refer to may be put into `size` bytes from `at` on. Called before all others.
  virtual void UseSpare(TargetAddress at, uint64_t size) = 0;
  // What the call gets for the function's parameter at `position`, counted from 0: its value or, if `placed` says so,
  // the address of the object. Nothing: it is not known there either.
  virtual std::optional<Bytes> Passed(size_t position, const PlacedParameter& placed) = 0;
  // Objects that the arguments refer to and that are written for the call, with their addresses.
  virtual std::vector<std::pair<TargetAddress, Bytes>> Objects() const = 0;
};

struct InlinedCall {
  TargetAddress at;                   // the instruction at which the inlined call begins
  TargetAddress sp;                   // the stack pointer there
  std::vector<TargetAddress> later;   // instructions of the call at which arguments get a place that have none at `at`
  std::vector<TargetAddress> others;  // where the call may begin if not at `at`
  const CodeInfo* copy = nullptr;     // out of line, in the same module; null: there is none
  PlacedCall places;
  InlinedLayout layout;
  std::string why_not;  // not empty: it cannot be called, in one clause
};

// `around` is the frame of the function into which `inlined` was inlined. The copy is the function that has the linkage
// name of `inlined` and, of several static ones, is of the same source.
InlinedCall FindInlinedCall(CodeReader& code, Unwinder& unwinder, const UnwoundFrame& around,
                            const LiveFunction& inlined);

// Puts together the call. A parameter's value comes from `others`, if that is not null and knows it, else from the
// first of `readers` that does, at that reader's pc. An object that is passed by its address and has none, since the
// compiler took it apart, gets a place on the stack. Fills in `parameters`, one for each parameter of the function.
DwarfCall CallOfInlined(std::span<ValueReader* const> readers, const LiveFunction& inlined, const InlinedCall& how,
                        OtherArguments* others, std::vector<Parameter>& parameters);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_VALUES_INLINED_CALL_H_
