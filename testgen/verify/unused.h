// Leaves out of a report beside tests what no replay uses, in whatever build. Nothing is replayed for it.
//
//   LeaveOutUnused(&report);  // before it is written
//
// - Symbols of our own code in the program (the client), and functions of the C++ library's templates. Words of
//   recorded memory that lead into another build are translated by symbols, and named objects take their contents
//   along; of the client nothing is taken along. Symbols that a word leads to stay: the C library holds the client's
//   handlers. In a small program 4.5 of 6 KB go, at -O0 7 of 9.
// - Names of our own functions that were inlined: no function of another build is taken for one of them anyhow
//   (successors.h). 5.1 of 5.5 KB.
// - Memory of the client and of the loader (unused_memory.h).
#ifndef RECRASH_TESTGEN_VERIFY_UNUSED_H_
#define RECRASH_TESTGEN_VERIFY_UNUSED_H_

#include "agent/report/report.h"

namespace recrash {

void LeaveOutUnused(TestReport* report);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_VERIFY_UNUSED_H_
