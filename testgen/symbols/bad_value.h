// Marks frames that were handed the value that crashes. No fix in their callers can make their tests pass.
//
// Only where it is certain. An argument that is null proves nothing by itself: many are, and a function takes them
// well. So the failing instruction is read. It has to take its address from the register that holds the argument.
#ifndef RECRASH_TESTGEN_SYMBOLS_BAD_VALUE_H_
#define RECRASH_TESTGEN_SYMBOLS_BAD_VALUE_H_

#include <vector>

#include "agent/report/report.h"
#include "testgen/symbols/stack/frame.h"
#include "testgen/symbols/values/frame_values.h"

namespace recrash {

// Sets holds_bad_value of the frame that failed, if it is the program's own: its failing instruction has used an
// argument, which is as it was on entry, as an address. `values` are those of the innermost frame; `frame` is of its
// function that is not inlined.
void MarkIfUsed(const Report& report, const ReportMemory& memory, const UnwoundFrame& unwound, ValueReader& values,
                Frame* frame);

// Sets holds_bad_value of all frames that hold the bad address itself, from the innermost frame of the program's own
// outwards as long as each frame has it. The address must be one that only a defect makes: not near null, and not
// mapped. The failing access lay at it or less than a page above it.
void MarkBadValues(const Report& report, std::vector<Frame>& frames);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_BAD_VALUE_H_
