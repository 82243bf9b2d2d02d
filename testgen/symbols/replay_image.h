// What of a module's file goes into the report beside tests, for replays against another build.
#ifndef RECRASH_TESTGEN_SYMBOLS_REPLAY_IMAGE_H_
#define RECRASH_TESTGEN_SYMBOLS_REPLAY_IMAGE_H_

#include <vector>

#include "agent/report/report.h"
#include "testgen/symbols/files/module_set.h"

namespace recrash {

// The segments that cannot be written, and constants that the loader relocates, by their addresses in the process,
// without what a replay against another build has no use for: code, which is not run there, and pages of nothing but
// tables of the linker and the unwinder. A module without a build-id is known again by its bytes, so all of it stays.
//
// In a small program 7 of 118 KiB are left.
std::vector<Region> ReadOnlyData(const LoadedModule& module);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_REPLAY_IMAGE_H_
