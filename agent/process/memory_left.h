// How much memory this process may still take before something is ended for it: what its control groups, its limits and
// the machine leave.
#ifndef RECRASH_AGENT_PROCESS_MEMORY_LEFT_H_
#define RECRASH_AGENT_PROCESS_MEMORY_LEFT_H_

#include <cstdint>
#include <string>

namespace recrash {

// In bytes; UINT64_MAX where nothing limits it. `root` stands before /proc and /sys: a test has files of its own.
uint64_t MemoryLeft(const std::string& root = "");

}  // namespace recrash

#endif  // RECRASH_AGENT_PROCESS_MEMORY_LEFT_H_
