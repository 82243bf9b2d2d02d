// The environment in which this installation's agent keeps a program's crash.
#ifndef RECRASH_TESTGEN_SUITE_AGENT_ENVIRONMENT_H_
#define RECRASH_TESTGEN_SUITE_AGENT_ENVIRONMENT_H_

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "agent/base/result.h"

namespace recrash {

// In-house there is room and time to keep more than in the field.
inline constexpr char kInHouseOptions[] = "files=embed,memory=1024,timeout=120,throw_stack=262144";

// $RECRASH_COLLECTOR, else the installation's. Empty when there is none.
std::string CollectorToRun();

// RECRASH_OPTIONS=`options`; LD_PRELOAD with the agent, for a program that was not built with it; RECRASH_COLLECTOR
// from our own environment, else the installation's.
Result<std::vector<std::pair<std::string, std::string>>> AgentEnvironment(const std::filesystem::path& program,
                                                                          const std::string& options);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SUITE_AGENT_ENVIRONMENT_H_
