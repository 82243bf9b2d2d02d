// The second step: what of a crash goes into tests.
#ifndef RECRASH_TESTGEN_SUITE_DESCRIBE_H_
#define RECRASH_TESTGEN_SUITE_DESCRIBE_H_

#include "agent/base/result.h"
#include "testgen/suite/folder.h"
#include "testgen/suite/load.h"

namespace recrash {

// A suite of all frames that can be called, at most crash.symbols.max_candidates of them; its folder is not set yet.
// kMissing when no frame can be called.
Result<Suite> Describe(Crash crash);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SUITE_DESCRIBE_H_
