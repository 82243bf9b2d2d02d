// The program run again, for the memory that each function had at its entry (testgen/rerun).
#ifndef RECRASH_TESTGEN_SUITE_RERUN_H_
#define RECRASH_TESTGEN_SUITE_RERUN_H_

#include "testgen/suite/folder.h"
#include "testgen/suite/observer.h"

namespace recrash {

// Puts the crash of another run, with the entry states of its frames, in the place of the suite's. When the program
// does not fail in the same way, the suite stays as it is and the observer is told why.
void RunProgramAgain(double seconds, Suite* suite, Observer* observer);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SUITE_RERUN_H_
