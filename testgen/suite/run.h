// `recrash run`: runs a program with the agent in it, so that its crash is kept.
//
//   RunRequest request;
//   request.command = {"./server", "--port", "80"};
//   request.reports = "reports";
//   Result<int> exit_code = RunProgram(request, &observer);
//
// A program that was built for second chance, and crashes, is run again with the functions of its stack watched. So the
// second report has their entry states.
#ifndef RECRASH_TESTGEN_SUITE_RUN_H_
#define RECRASH_TESTGEN_SUITE_RUN_H_

#include <filesystem>
#include <string>
#include <vector>

#include "agent/base/result.h"
#include "testgen/suite/observer.h"

namespace recrash {

struct RunRequest {
  std::vector<std::string> command;  // PROGRAM ARGS..., at least one word
  std::filesystem::path reports;     // the folder that reports go to
  bool is_store = false;             // of recrash: it finds a report there by its name
  bool once = false;                 // not again after a crash
};

// Returns what the first run ended with, as a shell has it. The observer is told of each report, and what to do next.
Result<int> RunProgram(const RunRequest& request, Observer* observer);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SUITE_RUN_H_
