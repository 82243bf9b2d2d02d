// Sorts the eightbytes of a type into classes, as the System V ABI for x86-64 does to pass it as an argument.
#ifndef RECRASH_TESTGEN_SYMBOLS_DWARF_EIGHTBYTES_H_
#define RECRASH_TESTGEN_SYMBOLS_DWARF_EIGHTBYTES_H_

#include <elfutils/libdw.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "testgen/symbols/dwarf/debug_info.h"

namespace recrash {

enum class Eightbyte : uint8_t { kNone, kInteger, kSse, kSseUp, kX87, kX87Up, kMemory };

struct Classification {
  std::vector<Eightbyte> eightbytes;  // at most two; empty for what is in memory, and for an empty class
  bool in_memory = false;
  bool by_reference = false;  // C++: a class with a copy constructor or destructor of its own
  bool x87 = false;           // long double alone: in memory as an argument, in st(0) as a result
  uint64_t size = 0;
  uint64_t alignment = 1;
};

// Returns nothing for a type outside the rules known here: a vector of more than 16 bytes, an incomplete class.
std::optional<Classification> Classify(DebugInfo& debug, Dwarf_Die type);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_DWARF_EIGHTBYTES_H_
