// From a report and the program's files to the frames that were live, with their arguments.
//
// Frames come from CFI; the arguments of a monitored function from its record (the static map in the program's file),
// all others from DWARF locations as far as they go.
#ifndef RECRASH_TESTGEN_SYMBOLS_BACKTRACE_H_
#define RECRASH_TESTGEN_SYMBOLS_BACKTRACE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "agent/base/result.h"
#include "agent/report/report.h"
#include "testgen/symbols/files/module_set.h"
#include "testgen/symbols/stack/frame.h"

namespace recrash {

struct Backtrace {
  std::vector<Frame> frames;  // of the failing thread, innermost first
  Place place;
  uint32_t skipped = 0;            // frames left out between the two ends, inlined ones counted
  std::vector<std::string> notes;  // "libfoo.so: no unstripped twin found": one sentence each
};

// Fails with kMissing (needed, found, the way out) when the program is not the one that crashed and no file with its
// build-id is found.
Result<Backtrace> ReadBacktrace(const Report& report, const SymbolOptions& options);

// What a replay of `frames` needs beside the report: the frames, the failing place, and the program's own image.
Result<ReplayData> MakeReplayData(const Report& report, const Backtrace& backtrace, const SymbolOptions& options);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_BACKTRACE_H_
