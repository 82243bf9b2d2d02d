// Writes the comments of a generated file. All text of a report in them is escaped.
#ifndef RECRASH_TESTGEN_EMIT_COMMENTS_H_
#define RECRASH_TESTGEN_EMIT_COMMENTS_H_

#include <string>

#include "agent/report/report.h"
#include "testgen/emit/emit.h"
#include "testgen/symbols/backtrace.h"

namespace recrash {

// Returns the comment at the top of the file: what failed, where, in which build, and what the tests do.
std::string HeadComment(const Report& report, const Backtrace& backtrace, const std::string& report_name,
                        bool all_enabled);

// Returns the comment above a test: which frame it calls, what that has to do with the failure, what it starts from,
// and why it is disabled. `verified`: the frame reproduced from test.start.
std::string TestComment(const TestReport& report, const Backtrace& backtrace, const Frame& frame,
                        const EmittedTest& test, bool verified);

// "`in`", or "argument 2" if the parameter has no name.
std::string StreamName(const Frame& frame, const ReplayStream& stream);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_EMIT_COMMENTS_H_
