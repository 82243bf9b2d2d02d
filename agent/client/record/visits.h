// Measures how long calls take: notes calls at their entries, and notices at later entries that they have ended.
//
// Holds up to 64 live calls of each of 16 threads, of those that reached the recorder. A call has ended when another
// begins at or above its place on the stack, or when its return address is gone. This is noticed late, so times are
// upper bounds. A signal handler in the middle may leave a wrong entry; positions stay within bounds whatever happens.
//
// Signal-safe.
#ifndef RECRASH_AGENT_CLIENT_RECORD_VISITS_H_
#define RECRASH_AGENT_CLIENT_RECORD_VISITS_H_

#include <stdint.h>

#include "agent/client/record/policy.h"
#include "agent/client/record/returned_frames.h"
#include "shadowstack/abi.h"
#include "shadowstack/log_format.h"

namespace recrash::record {

class Visits {
 public:
  // Learns the times of the thread's calls that have ended, and forgets these.
  RECRASH_SIGNAL_SAFE void LearnEnded(const StackAbove& stack, uint64_t now) {
    Thread& thread = Of(stack.thread);
    uint32_t depth = thread.depth < kDepth ? thread.depth : kDepth;
    for (; depth != 0; --depth) {
      const Visit& last = thread.visits[depth - 1];
      const bool elsewhere = stack.high != 0 && last.sp >= stack.high;  // another stack: a handler's, a coroutine's
      if (!elsewhere && !stack.HasReturned(last.sp, last.return_address)) break;
      if (!elsewhere && last.function != nullptr) Policy::Learn(*last.function, now - last.begun);
    }
    thread.depth = depth;
  }

  RECRASH_SIGNAL_SAFE bool IsLive(const StackAbove& stack, const LogFunction* function) {
    const Thread& thread = Of(stack.thread);
    for (uint32_t i = 0; i < thread.depth && i < kDepth; ++i)
      if (thread.visits[i].function == function) return true;
    return false;
  }

  // Notes a call. Calls deeper than there is room for are not measured.
  RECRASH_SIGNAL_SAFE void Begin(const StackAbove& stack, uint64_t return_address, LogFunction* function,
                                 uint64_t now) {
    Thread& thread = Of(stack.thread);
    const uint32_t depth = thread.depth;
    if (depth >= kDepth) return;
    thread.visits[depth] = {stack.sp, return_address, now, function};
    thread.depth = depth + 1;
  }

 private:
  static constexpr uint32_t kThreads = 16;
  static constexpr uint32_t kDepth = 64;

  struct Visit {
    uint64_t sp;
    uint64_t return_address;
    uint64_t begun;
    LogFunction* function;
  };
  struct Thread {
    uint64_t thread;
    uint32_t depth;
    Visit visits[kDepth];
  };

  // Threads with the same hash take the place from each other.
  RECRASH_SIGNAL_SAFE Thread& Of(uint64_t thread) {
    Thread& place = threads_[(thread * 0x9e3779b97f4a7c15ull) >> 60];
    if (place.thread != thread) {
      place.depth = 0;
      place.thread = thread;
    }
    return place;
  }

  Thread threads_[kThreads];
};

}  // namespace recrash::record

#endif  // RECRASH_AGENT_CLIENT_RECORD_VISITS_H_
