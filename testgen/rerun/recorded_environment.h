// What the kernel put at the top of a program's stack when it was started: its environment.
#ifndef RECRASH_TESTGEN_RERUN_RECORDED_ENVIRONMENT_H_
#define RECRASH_TESTGEN_RERUN_RECORDED_ENVIRONMENT_H_

#include <string>
#include <vector>

#include "agent/report/report.h"

namespace recrash {

// NAME=value, in order; empty when the report does not hold the texts. A program may overwrite them: a text that is no
// assignment any more is left out.
std::vector<std::string> RecordedEnvironment(const Report& report);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_RERUN_RECORDED_ENVIRONMENT_H_
