// Finds the failing source line in copies out of line of inlined functions.
#ifndef RECRASH_TESTGEN_SYMBOLS_PLACE_COPIES_H_
#define RECRASH_TESTGEN_SYMBOLS_PLACE_COPIES_H_

#include <vector>

#include "testgen/symbols/backtrace.h"
#include "testgen/symbols/stack/code_info.h"

namespace recrash {

// Returns the code of the failing line in the copies that tests of inlined frames call: where the innermost function of
// the program's source is that of the failure, and stands at the same line of it. Code of the standard library that was
// inlined there counts as the line that called it. Empty if no inlined frame has a copy.
std::vector<CodeRange> FindPlaceInCopies(const std::vector<Frame>& frames, CodeReader& code);

// Returns the innermost frame of the program's source; null if there is none.
const Frame* InnermostOfSource(const std::vector<Frame>& frames);

// Returns true for files of the standard library's headers and the like.
bool IsSystemsFile(const std::string& path);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_PLACE_COPIES_H_
