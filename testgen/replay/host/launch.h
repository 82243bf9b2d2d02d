// Starts the subject for a replay: writes the plan (plan.h) into an anonymous file, then either runs the program
// through ld.so under ptrace so that every module lands at its recorded base, or execs it plainly (debugger, ptrace
// refused) with rebasing left to the library.
#ifndef RECRASH_TESTGEN_REPLAY_HOST_LAUNCH_H_
#define RECRASH_TESTGEN_REPLAY_HOST_LAUNCH_H_

#include <string>
#include <vector>

#include "agent/base/result.h"
#include "agent/report/report.h"
#include "testgen/replay/host/code_files.h"

namespace recrash {

struct LaunchOptions {
  std::string program;
  std::string test_library;  // dlopened by the replay library; empty: built-in verification mode
  CodeSources code;          // beside the program
  bool in_process = false;   // run tests in place; under a debugger
  bool allow_same_bases = true;
  bool sandbox = true;
  std::vector<std::string> arguments;  // for the test program (argv[1..])
  std::string argv0;
  std::string report_path;        // for messages
  double seconds_per_frame = 60;  // of a test's call
  std::string twin;               // the program's; tests of functions that it does not have run there. Empty: nowhere
};

// Runs the subject and gives its exit status (wait status). In-process mode execs and does not come back on success.
Result<int> Launch(const TestReport& report, const LaunchOptions& options);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_REPLAY_HOST_LAUNCH_H_
