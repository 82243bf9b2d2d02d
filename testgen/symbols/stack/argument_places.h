// Where the arguments of a function lie at its first instruction.
//
//   const std::optional<PlacedCall> places = PlacesOf(*code.debug, code.live.back());
//   if (TakesArgumentsAsUsual(code) == false) return "its arguments are passed in another way";
#ifndef RECRASH_TESTGEN_SYMBOLS_STACK_ARGUMENT_PLACES_H_
#define RECRASH_TESTGEN_SYMBOLS_STACK_ARGUMENT_PLACES_H_

#include <cstdint>
#include <optional>

#include "testgen/symbols/dwarf/calling_convention.h"
#include "testgen/symbols/stack/code_info.h"

namespace recrash {

// Returns DWARF's number of a register; nothing for the stack.
std::optional<uint8_t> DwarfNumber(abi::Location location);

// Returns where the function's arguments are passed. Nothing if the compiler changed the convention (DW_CC_nocall), or
// if a type is outside the known rules.
std::optional<PlacedCall> PlacesOf(DebugInfo& debug, const LiveFunction& function);

// Whether the function of `code` takes its arguments where the ABI has them, by their locations in debug information.
// If nobody else can call a function, an optimiser drops arguments that it does not use, and passes what a pointer
// points to in place of the pointer. clang does not always say so, but such arguments have no location. g++ makes a
// function of another name. A pointer of which nothing is said counts as changed, though it may just not be used.
// Nothing without debug information of the function.
std::optional<bool> TakesArgumentsAsUsual(const CodeInfo& code);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_STACK_ARGUMENT_PLACES_H_
