// Inputs that a report does not hold, beside the files of today.
#ifndef RECRASH_TESTGEN_REPLAY_HOST_INPUT_CHECK_H_
#define RECRASH_TESTGEN_REPLAY_HOST_INPUT_CHECK_H_

#include <string>
#include <vector>

#include "agent/report/report.h"

namespace recrash {

// One clause for each that is not there or not the same any more: "/home/u/in.txt is missing". Reads the files.
std::vector<std::string> InputProblems(const Report& report);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_REPLAY_HOST_INPUT_CHECK_H_
