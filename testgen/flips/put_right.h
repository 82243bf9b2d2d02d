// Proves that a pointer was flipped: a replay that comes to the failure gets the bit put right there, and goes on.
//
//   const Result<Cure> cure = PutRight(report, pointer, failing, replays, options);
//   if (cure && cure->returns && !cure->made_again_by) ...  // the machine's memory is at fault
#ifndef RECRASH_TESTGEN_FLIPS_PUT_RIGHT_H_
#define RECRASH_TESTGEN_FLIPS_PUT_RIGHT_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "agent/base/result.h"
#include "agent/report/report.h"
#include "testgen/flips/flipped_pointer.h"
#include "testgen/verify/verify.h"

namespace recrash {

// A frame that reproduced, and from what.
struct ReplayToFailure {
  uint32_t frame = 0;  // ReplayFrame::index
  Start start;
};

// Where the innermost function of the program's own on the failing stack returns to its caller.
struct ReturnOfFailing {
  uint32_t frame = 0;      // its index
  TargetAddress address;   // the return address
  TargetAddress entry_sp;  // where that lies
};

struct Cure {
  bool returns = false;  // the innermost function, without another failure
  // A frame whose replay comes to the same failure with another pointer: the program makes such pointers itself.
  std::optional<uint32_t> made_again_by = {};
};

// Replays the frames, innermost first, until one comes to the failure with the pointer; from the memory of the crash,
// which has the flipped one, else from its Start. There the bit is put right in registers and memory. Then the
// outermost frame is replayed. REQUIRES: there is a frame.
Result<Cure> PutRight(const TestReport& report, const FlippedPointer& pointer, const ReturnOfFailing& failing,
                      const std::vector<ReplayToFailure>& replays, const VerifyOptions& options);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_FLIPS_PUT_RIGHT_H_
