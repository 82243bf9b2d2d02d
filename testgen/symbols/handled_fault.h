// A program that handles SIGSEGV by a handler of its own, which says something and aborts, dies of the abort. What its
// user wants reproduced is the fault; calling the program's functions again in a replay, where no handler of its own is
// installed, gives just that.
#ifndef RECRASH_TESTGEN_SYMBOLS_HANDLED_FAULT_H_
#define RECRASH_TESTGEN_SYMBOLS_HANDLED_FAULT_H_

#include <string>

#include "agent/report/report.h"
#include "testgen/symbols/symbols.h"

namespace recrash {

// When the failing thread died in its own handler of a fault (SIGSEGV, SIGBUS, SIGFPE, SIGILL, raised by the
// processor), makes `report` one of that fault, at its instruction; of several, of the first. One sentence that says
// so, else empty.
std::string GoBackToFault(const Symbols& symbols, Report* report);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_HANDLED_FAULT_H_
