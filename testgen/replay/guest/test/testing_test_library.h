// For tests: generated tests as their reader builds and runs them.
#ifndef RECRASH_TESTGEN_REPLAY_GUEST_TEST_TESTING_TEST_LIBRARY_H_
#define RECRASH_TESTGEN_REPLAY_GUEST_TEST_TESTING_TEST_LIBRARY_H_

#include <string>

#include "testgen/verify/testing_replayed_program.h"

namespace recrash {

// Puts `tests` into a library beside the program, with the report as it is now; gives the path of the executable that
// runs them.
std::string BuildTestLibrary(const ReplayedProgram& program, const std::string& tests);

struct Ran {
  int status = 0;      // as a shell has it
  std::string output;  // both streams
};
Ran RunCommand(const std::string& command);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_REPLAY_GUEST_TEST_TESTING_TEST_LIBRARY_H_
