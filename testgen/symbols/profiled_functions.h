// Names the functions of a crash that second chance should watch.
#ifndef RECRASH_TESTGEN_SYMBOLS_PROFILED_FUNCTIONS_H_
#define RECRASH_TESTGEN_SYMBOLS_PROFILED_FUNCTIONS_H_

#include "agent/report/profile.h"
#include "testgen/symbols/backtrace.h"

namespace recrash {

// Returns the program's own functions on the failing stack that have a record or a patchable entry, each once. Inlined
// frames are left out: the function that they were inlined into is a frame of its own. Functions of a build without
// second chance are returned too, for the next build.
Profile FunctionsToWatch(const Backtrace& backtrace, const Symbols& symbols);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_PROFILED_FUNCTIONS_H_
