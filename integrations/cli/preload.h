// The agent in a program that was not built with it.
#ifndef RECRASH_INTEGRATIONS_CLI_PRELOAD_H_
#define RECRASH_INTEGRATIONS_CLI_PRELOAD_H_

#include <filesystem>
#include <string>

#include "agent/report/result.h"

namespace recrash::cli {

// What LD_PRELOAD has to be; empty for a program with the agent linked in.
Result<std::string> AgentToPreload(const std::filesystem::path& program);

}  // namespace recrash::cli

#endif  // RECRASH_INTEGRATIONS_CLI_PRELOAD_H_
