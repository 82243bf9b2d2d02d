// What a crash is in the source: equal for every build of a program, on every machine. The collector, which has no
// symbols, has signatures instead (agent/store/signature.h).
#ifndef RECRASH_TESTGEN_SUITE_SOURCE_SIGNATURE_H_
#define RECRASH_TESTGEN_SUITE_SOURCE_SIGNATURE_H_

#include "agent/report/report.h"
#include "agent/store/store_index.h"
#include "testgen/suite/load.h"
#include "testgen/symbols/backtrace.h"

namespace recrash {

// The kind of the failure, the program's name, and the chain of its own functions with their files, without lines,
// addresses, parameters and numbers of lambdas; each function once, however deep a recursion is. The digest is empty
// where the chain is not known: an own function on the stack has no debug information.
SourceChain ChainOf(const Report& report, const Backtrace& backtrace);

// If the report lies in the store, its index gets the chain, so that `recrash list` needs no symbols.
void KeepChain(const Crash& crash);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SUITE_SOURCE_SIGNATURE_H_
