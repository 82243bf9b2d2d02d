// From a report and the program's files to the frames that were live, with their arguments.
//
// Frames come from CFI; the arguments of a monitored function from its record (the static map in the program's file),
// all others from DWARF locations as far as they go.
#ifndef RECRASH_TESTGEN_SYMBOLS_BACKTRACE_H_
#define RECRASH_TESTGEN_SYMBOLS_BACKTRACE_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "agent/base/result.h"
#include "agent/report/report.h"
#include "testgen/symbols/stack/frame.h"
#include "testgen/symbols/symbols.h"

namespace recrash {

struct Backtrace {
  std::vector<Frame> frames;  // of the failing thread, innermost first
  Place place;
  uint32_t skipped = 0;            // frames left out between the two ends, inlined ones counted
  std::vector<std::string> notes;  // "libfoo.so: no unstripped twin found": one sentence each
};

// Reads the failing thread's frames. Registers that the report's snapshots have of a frame's entry give its arguments.
Result<Backtrace> ReadBacktrace(const Report& report, const Symbols& symbols);

// The same with `entries` in place of the report's snapshots: what a second run saw at the entries of these frames.
Result<Backtrace> ReadBacktrace(const Report& report, const Symbols& symbols, std::span<const EntrySnapshot> entries);

// What a replay of `frames` needs beside the report: the frames, the failing place, and the program's own image.
ReplayData MakeReplayData(const Backtrace& backtrace, const Symbols& symbols);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_BACKTRACE_H_
