// Runs a program that crashed again, with the arguments, environment and files that its report names, and captures the
// state of each frame at its entry (docs/explanations/rerun.md).
#ifndef RECRASH_TESTGEN_RERUN_RERUN_H_
#define RECRASH_TESTGEN_RERUN_RERUN_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "agent/base/result.h"
#include "agent/report/report.h"
#include "testgen/symbols/backtrace.h"

namespace recrash {

struct RerunOptions {
  std::string program;  // the build that crashed
  SymbolOptions symbols;
  bool trust_report = false;  // its environment is taken whole (recorded_environment.h)
  std::vector<std::pair<std::string, std::string>> environment;  // in place of what is recorded under these names
  std::string folder;   // to run in, as it is; empty: a temporary one, with copies of what the command line names
  double seconds = 60;  // a run may take
  std::function<void(int round)> progress = [](int) {};
};

struct Rerun {
  TestReport report;  // of the last run, with the entry states of its frames
  Backtrace backtrace;
  std::vector<std::string> notes;  // frames without an entry state, and why
};

// Command line, environment and files of the runs, a line each, for the user to look at before.
std::string DescribeRun(const Report& report, const RerunOptions& options);

// The error says in one sentence why there is no result: the program ended in another way, may not be traced, …
Result<Rerun> RunAgain(const TestReport& first, const Backtrace& backtrace, const RerunOptions& options);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_RERUN_RERUN_H_
