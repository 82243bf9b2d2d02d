// Goes back from the abort of a program's own signal handler to the fault that it handled.
//
// Some programs handle SIGSEGV: their handler prints a message and aborts, so the report says SIGABRT. The user wants
// the fault reproduced. A replay installs no handler of the program's, so calling its functions again gives the fault.
#ifndef RECRASH_TESTGEN_SYMBOLS_HANDLED_FAULT_H_
#define RECRASH_TESTGEN_SYMBOLS_HANDLED_FAULT_H_

#include <string>

#include "agent/report/report.h"
#include "testgen/symbols/symbols.h"

namespace recrash {

// If the failing thread died in the program's own handler of a fault, makes `report` a report of that fault, at the
// faulting instruction. A fault is a SIGSEGV, SIGBUS, SIGFPE or SIGILL that the processor raised. If handlers are
// nested, the first fault counts. Returns one sentence that says so; empty if the report stays as it is.
std::string GoBackToFault(const Symbols& symbols, Report* report);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_HANDLED_FAULT_H_
