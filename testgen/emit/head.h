// Writes the comment at the top of a generated file: what failed, where, in which build, and what the tests do.
#ifndef RECRASH_TESTGEN_EMIT_HEAD_H_
#define RECRASH_TESTGEN_EMIT_HEAD_H_

#include <string>

#include "agent/report/report.h"
#include "testgen/symbols/backtrace.h"

namespace recrash {

std::string HeadComment(const Report& report, const Backtrace& backtrace, const std::string& report_name);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_EMIT_HEAD_H_
