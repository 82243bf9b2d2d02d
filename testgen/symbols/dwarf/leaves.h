// What an object is made of: the scalars and addresses in it, through classes, bases and arrays.
//
//   const auto leaves = LeavesOf(debug, type);
//   if (leaves) for (const Leaf& leaf : *leaves) if (leaf.kind == Leaf::Kind::kAddress) Translate(object, leaf.offset);
#ifndef RECRASH_TESTGEN_SYMBOLS_DWARF_LEAVES_H_
#define RECRASH_TESTGEN_SYMBOLS_DWARF_LEAVES_H_

#include <elfutils/libdw.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "testgen/symbols/dwarf/debug_info.h"

namespace recrash {

struct Leaf {
  enum class Kind : uint8_t {
    kValue,    // holds no address
    kAddress,  // of an object, or of code
    kOpaque,   // of a union, or of bit-fields: may hold an address
  };
  Kind kind = Kind::kValue;
  uint64_t offset = 0;
  uint64_t size = 0;
  std::optional<Dwarf_Die> type = {};  // of an address: the type of the pointer or the reference
};

// Returns the leaves of an object of that type in the order of the source. Nothing if one of its types is not known, or
// if there are more than some hundreds.
std::optional<std::vector<Leaf>> LeavesOf(DebugInfo& debug, Dwarf_Die type);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_DWARF_LEAVES_H_
