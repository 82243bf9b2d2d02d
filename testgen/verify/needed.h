// What the tests of a report need of it: which pages they touch, and whether they still reproduce without the rest.
//
//   Result<std::vector<TargetAddress>> touched = TouchedPages(report, options, pages);
//   Result<std::vector<uint32_t>> changed = ChangedTests(report_without_the_others, options);  // none: good
#ifndef RECRASH_TESTGEN_VERIFY_NEEDED_H_
#define RECRASH_TESTGEN_VERIFY_NEEDED_H_

#include <cstdint>
#include <vector>

#include "agent/base/result.h"
#include "agent/report/report.h"
#include "testgen/replay/plan/plan.h"
#include "testgen/verify/verify.h"

namespace recrash {

// Replays each frame of the report from its own Start in options.runs starts of the subject. Returns those of `pages`
// (ascending, outside the modules) that a replay touched, ascending. A page that only a system call looks at is missing
// there, so check what is left: ChangedTests.
Result<std::vector<TargetAddress>> TouchedPages(const TestReport& report, const VerifyOptions& options,
                                                const std::vector<TargetAddress>& pages);

// Replays each frame of the report from its own Start in options.runs starts of the subject. Returns those that did not
// reproduce in all of them, by ReplayFrame::index.
Result<std::vector<uint32_t>> ChangedTests(const TestReport& report, const VerifyOptions& options);

// Start and end of each run of successive pages. REQUIRES: `pages` ascend.
std::vector<plan::Range> JoinToRanges(const std::vector<TargetAddress>& pages);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_VERIFY_NEEDED_H_
