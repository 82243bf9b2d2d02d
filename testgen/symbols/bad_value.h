// Is an argument of a frame itself the value that crashes? Then no fix above it can make that frame's test pass.
#ifndef RECRASH_TESTGEN_SYMBOLS_BAD_VALUE_H_
#define RECRASH_TESTGEN_SYMBOLS_BAD_VALUE_H_

#include "agent/report/report.h"
#include "testgen/symbols/backtrace.h"

namespace recrash {

// Told for SIGSEGV and SIGBUS only: a pointer or reference among the parameters that leads to no mapped memory, and the
// failing access lay at it or less than a page above it (a member of the object). A bad index, a zero divisor or a
// wrong enumerator is not told from a good one.
bool HoldsBadValue(const Report& report, const Frame& frame);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_BAD_VALUE_H_
