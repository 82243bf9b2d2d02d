// How long a replay may take, as the process sees it that has started it.
//
//   if (WaitForEnd(child, {.seconds = 10, .memory = 4ull << 30, .may_not_stall = true}) != GivenUp::kNot) kill(child,
//   9);
#ifndef RECRASH_TESTGEN_REPLAY_SANDBOX_PATIENCE_H_
#define RECRASH_TESTGEN_REPLAY_SANDBOX_PATIENCE_H_

#include <stdint.h>
#include <sys/types.h>

namespace recrash::replay {

struct Limits {
  double seconds;      // of processor time; of the clock for one that waits
  uint64_t memory;     // resident bytes; 0: any
  bool may_not_stall;  // false: somebody outside lets the replay go on
};

enum class GivenUp {
  kNot,        // the process has ended
  kComputing,  // it has used its processor time
  kWaiting,    // it does hardly anything, or it waits for ever: without a limit, for what no other thread can do
  kMemory,     // it has taken more than it may
};

// Returns when the process has ended, or why it is given up.
GivenUp WaitForEnd(pid_t child, const Limits& limits);

// Is this what /proc/PID/syscall says of a call that only another thread, or a signal, can end?
bool IsEndlessWait(const char* system_call);

}  // namespace recrash::replay

#endif  // RECRASH_TESTGEN_REPLAY_SANDBOX_PATIENCE_H_
