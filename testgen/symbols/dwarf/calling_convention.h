// Says where the System V ABI for x86-64 puts the arguments of a call, from their DWARF types.
//
// Functions without a record need it. The pass asks LLVM's lowering instead. The rules here are those of the ABI's
// section 3.2.3; a test compares them with what the compiler does.
#ifndef RECRASH_TESTGEN_SYMBOLS_DWARF_CALLING_CONVENTION_H_
#define RECRASH_TESTGEN_SYMBOLS_DWARF_CALLING_CONVENTION_H_

#include <elfutils/libdw.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "shadowstack/abi.h"
#include "testgen/symbols/dwarf/debug_info.h"

namespace recrash {

// A piece of a parameter and its place at the callee's first instruction.
struct PlacedPiece {
  uint64_t offset = 0;  // in the parameter
  uint64_t size = 0;    // at most sixteen in a register; the whole parameter on the stack
  abi::Location location = abi::Location::kUnknown;
  uint64_t stack_offset = 0;
};

struct PlacedParameter {
  bool indirect = false;            // a class that cannot be copied trivially: its address is passed
  std::vector<PlacedPiece> pieces;  // none for an empty class
};

struct PlacedCall {
  bool result_in_memory = false;  // rdi holds the place for the result
  std::vector<PlacedParameter> parameters;
};

// Returns the places of a call's arguments; `result` is nothing for void. Returns nothing if the type of a parameter is
// not known, or is outside the rules known here: vectors of more than 16 bytes, incomplete classes.
std::optional<PlacedCall> PlaceArguments(DebugInfo& debug, std::optional<Dwarf_Die> result,
                                         const std::vector<std::optional<Dwarf_Die>>& parameters);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_DWARF_CALLING_CONVENTION_H_
