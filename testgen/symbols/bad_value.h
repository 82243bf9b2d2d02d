// Marks frames that were handed the value that crashes. No fix in their callers can make their tests pass.
#ifndef RECRASH_TESTGEN_SYMBOLS_BAD_VALUE_H_
#define RECRASH_TESTGEN_SYMBOLS_BAD_VALUE_H_

#include <vector>

#include "agent/report/report.h"
#include "testgen/symbols/stack/frame.h"

namespace recrash {

// Returns true if an argument of the frame is a bad pointer or reference that the failing access used. The failure is a
// SIGSEGV or SIGBUS, the pointer leads to no mapped memory, and the access lay at it or less than a page above it (a
// member of the object). A bad index, a zero divisor or a wrong enumerator cannot be told from a good one.
bool HoldsBadValue(const Report& report, const Frame& frame);

// Sets holds_bad_value of all frames. A function that throws, aborts or fails an assertion has refused its arguments,
// so the innermost frame of the program's own is marked as well. It is not marked if it was inlined (the function
// around it may have made the value), or if it is `main`.
void MarkBadValues(const Report& report, std::vector<Frame>& frames);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_BAD_VALUE_H_
