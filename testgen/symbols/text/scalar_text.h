// Writes numbers, characters, booleans and enumerators as text.
#ifndef RECRASH_TESTGEN_SYMBOLS_TEXT_SCALAR_TEXT_H_
#define RECRASH_TESTGEN_SYMBOLS_TEXT_SCALAR_TEXT_H_

#include <elfutils/libdw.h>

#include <cstdint>
#include <span>
#include <string>

#include "testgen/symbols/dwarf/debug_info.h"

namespace recrash {

// REQUIRES: `type` is a resolved base type, and `bytes` has its size.
std::string BaseText(Dwarf_Die type, std::span<const uint8_t> bytes);
// Returns the enumerator's name as code says it: "Kind::kLeaf". For flags: "kRead | kWrite". If no enumerator has the
// value: "Kind(12)". REQUIRES: `type` is a resolved enumeration, and `bytes` has its size.
std::string EnumText(DebugInfo& debug, Dwarf_Die type, std::span<const uint8_t> bytes);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_TEXT_SCALAR_TEXT_H_
