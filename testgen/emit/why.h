// Says why the test of a frame may be the useful one: sentences for the comment above the test.
#ifndef RECRASH_TESTGEN_EMIT_WHY_H_
#define RECRASH_TESTGEN_EMIT_WHY_H_

#include <string>
#include <vector>

#include "agent/report/report.h"
#include "testgen/symbols/backtrace.h"

namespace recrash {

std::vector<std::string> WhyUseful(const Report& report, const Backtrace& backtrace, const Frame& frame);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_EMIT_WHY_H_
