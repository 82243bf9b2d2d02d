// Runs another program and waits for it.
#ifndef RECRASH_AGENT_PROCESS_SUBPROCESS_H_
#define RECRASH_AGENT_PROCESS_SUBPROCESS_H_

#include <string>
#include <utility>
#include <vector>

#include "agent/base/result.h"

namespace recrash {

struct ProcessOptions {
  std::vector<std::pair<std::string, std::string>> environment;  // added to our own
  std::vector<std::string> without;                              // variables of our own that it does not get
  bool capture = false;  // stdout and stderr into ProcessResult::output; else they are ours
};

struct ProcessResult {
  int wait_status = 0;
  std::string output;

  bool ok() const { return wait_status == 0; }
  int exit_code() const;  // as a shell has it: 128 + signal when it died of one
};

// argv[0] is looked up in PATH when it has no slash. kMissing when it cannot be started.
Result<ProcessResult> RunProcess(const std::vector<std::string>& argv, const ProcessOptions& options);

// Where PATH has `name`; empty when it does not.
std::string FindInPath(const std::string& name);

}  // namespace recrash

#endif  // RECRASH_AGENT_PROCESS_SUBPROCESS_H_
