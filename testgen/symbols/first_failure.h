// Goes back from what ended a program to what its handler had before.
//
// An exception may be caught, and replaced by another one that nobody catches. Its throw is where the trouble began.
//
// Some programs handle SIGSEGV: their handler prints a message and aborts, so the report says SIGABRT. The user wants
// the fault reproduced. A replay installs no handler of the program's, so calling its functions again gives the fault.
#ifndef RECRASH_TESTGEN_SYMBOLS_FIRST_FAILURE_H_
#define RECRASH_TESTGEN_SYMBOLS_FIRST_FAILURE_H_

#include <string>

#include "agent/report/report.h"
#include "testgen/symbols/backtrace.h"
#include "testgen/symbols/symbols.h"

namespace recrash {

// If the failing thread died in the program's own handler of a fault, makes `report` a report of that fault, at the
// faulting instruction. A fault is a SIGSEGV, SIGBUS, SIGFPE or SIGILL that the processor raised. If handlers are
// nested, the first fault counts. Returns one sentence that says so; empty if the report stays as it is.
std::string GoBackToFault(const Symbols& symbols, Report* report);

// Makes `report` a report of the exception that was replaced. REQUIRES: report->replaced.
void GoBackToReplaced(Report* report);

// `first` is the back-trace of such a report, `last` that of the exception that ended the program. Leaves as candidates
// the frames inside the function whose handler replaced the one by the other: those outside fail by the last one.
// Returns that function; "" if it is not found, and then no frame is a candidate.
std::string LeaveFramesInsideHandler(const Backtrace& last, Backtrace* first);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_FIRST_FAILURE_H_
