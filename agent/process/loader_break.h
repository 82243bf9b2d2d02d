// Where a program's dynamic loader stops for a debugger whenever it has loaded or unloaded something (r_debug of
// <link.h>).
#ifndef RECRASH_AGENT_PROCESS_LOADER_BREAK_H_
#define RECRASH_AGENT_PROCESS_LOADER_BREAK_H_

#include <sys/types.h>

#include <cstdint>

namespace recrash {

// REQUIRES: the program's own code is about to begin; `memory` is the open /proc/PID/mem. Returns 0 for a program that
// is linked statically.
uint64_t FindLoaderBreak(pid_t pid, int memory);

}  // namespace recrash

#endif  // RECRASH_AGENT_PROCESS_LOADER_BREAK_H_
