// Which code each FDE of .eh_frame covers: the only function boundaries that a stripped file has.
#ifndef RECRASH_TESTGEN_SYMBOLS_FILES_EH_FRAME_H_
#define RECRASH_TESTGEN_SYMBOLS_FILES_EH_FRAME_H_

#include <cstdint>
#include <span>
#include <vector>

#include "testgen/symbols/files/elf_file.h"

namespace recrash {

// Returns the ranges sorted by start. Entries that cannot be understood are left out. `address` is the section's.
std::vector<FunctionRange> ReadFdeRanges(std::span<const uint8_t> section, uint64_t address);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_FILES_EH_FRAME_H_
