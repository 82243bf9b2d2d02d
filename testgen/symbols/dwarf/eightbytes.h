// Classes of a type's eightbytes, as the System V ABI for x86-64 sorts them.
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

std::optional<Classification> Classify(DebugInfo& debug, Dwarf_Die type);

// Returns true if the class is passed by the address of a copy. DWARF 5 says so itself; for older debug information the
// declared constructors and destructors decide.
bool IsPassedByReference(DebugInfo& debug, Dwarf_Die type);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_DWARF_EIGHTBYTES_H_
