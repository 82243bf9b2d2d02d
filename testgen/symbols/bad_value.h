// Is an argument of a frame itself the value that crashes? Then no fix above it can make that frame's test pass.
#ifndef RECRASH_TESTGEN_SYMBOLS_BAD_VALUE_H_
#define RECRASH_TESTGEN_SYMBOLS_BAD_VALUE_H_

#include <vector>

#include "agent/report/report.h"
#include "testgen/symbols/stack/frame.h"

namespace recrash {

// Does what the frame was given make it fail, whatever its callers do? Told from its arguments for SIGSEGV and SIGBUS:
// a pointer or reference that leads to no mapped memory, and the failing access lay at it or less than a page above it
// (a member of the object). A bad index, a zero divisor or a wrong enumerator is not told from a good one.
bool HoldsBadValue(const Report& report, const Frame& frame);

// The same for all frames. A function that throws or aborts, or whose assertion fails, has refused what it was given:
// it is the innermost of the program's own, unless that was inlined (then the value may be made in the function around
// it) or has no caller.
void MarkBadValues(const Report& report, std::vector<Frame>& frames);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_BAD_VALUE_H_
