// The checksum of a source file as it was when it was compiled: clang keeps it in the line table of DWARF 5.
//
//   const auto checksum = SourceChecksum(debug, unit, "/src/tree.cc");
//   if (checksum && *checksum == Md5(text)) ...  // the file has not changed since
//
// libdw does not give it out, so the header of the line table is read here.
#ifndef RECRASH_TESTGEN_SYMBOLS_DWARF_SOURCE_CHECKSUM_H_
#define RECRASH_TESTGEN_SYMBOLS_DWARF_SOURCE_CHECKSUM_H_

#include <elfutils/libdw.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "testgen/symbols/dwarf/debug_info.h"

namespace recrash {

using Checksum = std::array<uint8_t, 16>;

// `file` as SourceLine has it. Nothing if the table has no checksums (DWARF 4, gcc), or is compressed.
std::optional<Checksum> SourceChecksum(DebugInfo& debug, Dwarf_Die unit, const std::string& file);

// Returns the checksum of each file of the table that begins at `table`; none if it has none, or is damaged.
std::vector<Checksum> ChecksumsOf(std::span<const uint8_t> table);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_DWARF_SOURCE_CHECKSUM_H_
