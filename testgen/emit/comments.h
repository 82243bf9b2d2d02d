// Writes the comments of a generated file. All text of a report in them is escaped.
#ifndef RECRASH_TESTGEN_EMIT_COMMENTS_H_
#define RECRASH_TESTGEN_EMIT_COMMENTS_H_

#include <string>

#include "agent/report/report.h"
#include "testgen/symbols/backtrace.h"

namespace recrash {

// Returns the comment at the top of the file: what failed, where, in which build, and what the tests do.
std::string HeadComment(const Report& report, const Backtrace& backtrace, const std::string& report_name);

// Returns the comment above a test: which frame it calls, why it may be the useful one, and what it starts from.
// `verified`: the frame reproduced from `start`.
std::string TestComment(const TestReport& report, const Backtrace& backtrace, const Frame& frame, const Start& start,
                        bool verified);

// "`in`", or "argument 2" if the parameter has no name.
std::string StreamName(const Frame& frame, const ReplayStream& stream);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_EMIT_COMMENTS_H_
