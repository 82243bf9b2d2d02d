// Reads a report's failing stack: its frames, their arguments, and what a replay of them needs.
//
//   Result<Backtrace> backtrace = ReadBacktrace(report, *symbols);  // Symbols::Open(report, options)
//   if (!backtrace) return backtrace.error();
//   for (const Frame& frame : backtrace->frames) fmt::print("#{} {}\n", frame.index, frame.function);
//
// Call frame information gives the frames. A monitored function's record gives its arguments; DWARF gives the others,
// as far as it knows them.
#ifndef RECRASH_TESTGEN_SYMBOLS_BACKTRACE_H_
#define RECRASH_TESTGEN_SYMBOLS_BACKTRACE_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "agent/base/result.h"
#include "agent/report/report.h"
#include "testgen/symbols/stack/frame.h"
#include "testgen/symbols/surroundings.h"
#include "testgen/symbols/symbols.h"

namespace recrash {

struct Backtrace {
  std::vector<Frame> frames;  // of the failing thread, innermost first
  Place place;
  uint32_t skipped = 0;  // frames of a deep stack that were left out between its two ends; inlined ones count
  Surroundings around;   // of the failing stack
  std::vector<std::string> flipped;  // bits that flipped in the machine's memory, one sentence each (testgen/flips)
  std::vector<std::string> notes;    // one sentence each: "libfoo.so: no unstripped file found"
};

// Reads the frames of the failing thread. REQUIRES: `symbols` were opened for this report. If the program recorded the
// entry state of a frame, the frame's arguments come from the state's registers.
Result<Backtrace> ReadBacktrace(const Report& report, const Symbols& symbols);

// The same, but takes the registers from `states` instead of those in the report.
Result<Backtrace> ReadBacktrace(const Report& report, const Symbols& symbols, std::span<const EntryState> states);

// Returns the frame as a replay needs it.
ReplayFrame MakeReplayFrame(const Frame& frame);

// Returns what ReplayFrame::dangling is in the memory of the frame's entry: the frame may have made the pointer itself.
std::string DanglingAtItsEntry(const Report& report, const Symbols& symbols, const Frame& frame,
                               const EntryState& state);

// Returns what a replay needs beside the report: the candidates among the frames, the failing place, and the images of
// the program and of its own libraries.
ReplayData MakeReplayData(const Backtrace& backtrace, const Symbols& symbols);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_BACKTRACE_H_
