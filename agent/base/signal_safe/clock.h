// The kernel's clocks, in nanoseconds.
//
// Signal-safe: the vdso reads a page and takes no lock; else by system_call.h.
#ifndef RECRASH_AGENT_BASE_SIGNAL_SAFE_CLOCK_H_
#define RECRASH_AGENT_BASE_SIGNAL_SAFE_CLOCK_H_

#include <stdint.h>
#include <time.h>

#include "agent/base/signal_safe/system_call.h"

namespace recrash::signal_safe {

RECRASH_SIGNAL_SAFE inline uint64_t Nanoseconds(clockid_t clock) {
  timespec now = {};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000 + static_cast<uint64_t>(now.tv_nsec);
}

RECRASH_SIGNAL_SAFE inline void Pause(int64_t nanoseconds) {
  const timespec time = {nanoseconds / 1000000000, nanoseconds % 1000000000};
  Call(SYS_nanosleep, &time, nullptr);
}

}  // namespace recrash::signal_safe

#endif  // RECRASH_AGENT_BASE_SIGNAL_SAFE_CLOCK_H_
