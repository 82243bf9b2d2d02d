// Finds out why a program failed, by replaying a frame that reproduces.
//
//   Result<Explanation> explanation = Explain(report, symbols, options);
//   for (const Link& link : explanation->links) …
//
// The trail starts at the failing instruction, or at the call that threw, aborted or failed an assertion, and goes back
// through registers, memory, arguments and returned values to where the value was made; from a constant to the branch
// that chose it. Nothing is guessed: each link was seen in a replay.
#ifndef RECRASH_TESTGEN_EXPLAIN_EXPLAIN_H_
#define RECRASH_TESTGEN_EXPLAIN_EXPLAIN_H_

#include <cstdint>

#include "agent/base/result.h"
#include "agent/report/report.h"
#include "testgen/explain/explanation.h"
#include "testgen/symbols/symbols.h"
#include "testgen/verify/verify.h"

namespace recrash::explain {

struct ExplainOptions {
  VerifyOptions replay;
  uint32_t frame = 0;  // whose replay shows the past: a ReplayFrame::index that reproduces from `start`
  Start start;
  double seconds = 20;  // for all of it
  uint32_t most_links = 60;
  bool all = false;  // each step, also those that go through one line of the source
};

// REQUIRES: options.replay.program is the build that crashed; the report's failure is a signal.
// kRefused: the frame cannot be replayed, or its replay cannot be traced.
Result<Explanation> Explain(const TestReport& report, const Symbols& symbols, const ExplainOptions& options);

}  // namespace recrash::explain

#endif  // RECRASH_TESTGEN_EXPLAIN_EXPLAIN_H_
