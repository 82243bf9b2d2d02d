// What failed, in one line for people.
#ifndef RECRASH_TESTGEN_REPLAY_PLAN_FAILURE_LINE_H_
#define RECRASH_TESTGEN_REPLAY_PLAN_FAILURE_LINE_H_

#include <string>

#include "agent/report/report.h"

namespace recrash {

// "SIGSEGV in FormatName at greeter.cc:41"
std::string ReplayFailureText(const TestReport& report);

std::string ReadableSymbol(const std::string& linkage_name);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_REPLAY_PLAN_FAILURE_LINE_H_
