// The functions of a crash that second chance should watch, by unwinding, with their names.
#ifndef RECRASH_TESTGEN_SYMBOLS_PROFILED_FUNCTIONS_H_
#define RECRASH_TESTGEN_SYMBOLS_PROFILED_FUNCTIONS_H_

#include "agent/report/profile.h"
#include "testgen/symbols/backtrace.h"

namespace recrash {

// The program's own functions on the failing stack that the pass has seen: those with a record or a patchable entry. An
// inlined frame stands for the function that it was inlined into, which comes as a frame of its own. Functions of a
// build without second chance are named for the next one.
Profile FunctionsToWatch(const Backtrace& backtrace, const Symbols& symbols);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_PROFILED_FUNCTIONS_H_
