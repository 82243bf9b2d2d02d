// What the kernel put at the top of a program's stack when it was started: its environment.
#ifndef RECRASH_TESTGEN_RERUN_RECORDED_ENVIRONMENT_H_
#define RECRASH_TESTGEN_RERUN_RECORDED_ENVIRONMENT_H_

#include <string>
#include <string_view>
#include <vector>

#include "agent/report/report.h"

namespace recrash {

// NAME=value, in order; empty when the report does not hold the texts. A program may overwrite them: a text that is no
// assignment any more is left out.
std::vector<std::string> RecordedEnvironment(const Report& report);

// Does the variable of this assignment tell a loader, the C library, or an interpreter or tool that a program may start
// what code to run, or which program? Who wrote the report chose its value.
bool MayRunCode(std::string_view assignment);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_RERUN_RECORDED_ENVIRONMENT_H_
