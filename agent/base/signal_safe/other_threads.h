// Does this process have other threads?
//
// Signal-safe, by system_call.h alone.
#ifndef RECRASH_AGENT_BASE_SIGNAL_SAFE_OTHER_THREADS_H_
#define RECRASH_AGENT_BASE_SIGNAL_SAFE_OTHER_THREADS_H_

#include <fcntl.h>
#include <sys/stat.h>

#include "agent/base/signal_safe/system_call.h"

namespace recrash::signal_safe {

// Returns true also if there is no /proc to tell: code that other threads may run must not be patched, and memory that
// they may write must not be called exact. /proc/PID/task has two links, and one for each thread.
RECRASH_SIGNAL_SAFE inline bool HasOtherThreads(const char* tasks = "/proc/self/task") {
  struct stat status = {};
  return Call(SYS_newfstatat, AT_FDCWD, tasks, &status, 0) != 0 || status.st_nlink != 3;
}

}  // namespace recrash::signal_safe

#endif  // RECRASH_AGENT_BASE_SIGNAL_SAFE_OTHER_THREADS_H_
