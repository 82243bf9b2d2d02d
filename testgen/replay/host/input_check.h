// Compares the inputs that a report does not hold with the files of today.
#ifndef RECRASH_TESTGEN_REPLAY_HOST_INPUT_CHECK_H_
#define RECRASH_TESTGEN_REPLAY_HOST_INPUT_CHECK_H_

#include <cstddef>
#include <map>
#include <string>

#include "agent/report/report.h"

namespace recrash {

// Returns one clause for each input that is missing or has changed, by its index: "/home/u/in.txt is missing". It reads
// the files.
std::map<size_t, std::string> InputProblems(const Report& report);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_REPLAY_HOST_INPUT_CHECK_H_
