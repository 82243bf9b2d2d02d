// What a second run takes from the report: command line, environment, files.
#ifndef RECRASH_TESTGEN_RERUN_CONDITIONS_H_
#define RECRASH_TESTGEN_RERUN_CONDITIONS_H_

#include <string>
#include <vector>

#include "agent/report/report.h"
#include "testgen/rerun/rerun.h"

namespace recrash {

struct RerunEnvironment {
  std::vector<std::string> kept;     // NAME=value, with the changes of the options
  std::vector<std::string> dropped;  // names of those that may run code (recorded_environment.h)
};
RerunEnvironment EnvironmentOf(const Report& report, const RerunOptions& options);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_RERUN_CONDITIONS_H_
