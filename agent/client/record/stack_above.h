// Tells from a thread's stack which of its frames have returned.
//
// Signal-safe.
#ifndef RECRASH_AGENT_CLIENT_RECORD_STACK_ABOVE_H_
#define RECRASH_AGENT_CLIENT_RECORD_STACK_ABOVE_H_

#include <stdint.h>
#include <string.h>

#include "shadowstack/abi.h"

namespace recrash::record {

// The part of a thread's stack that holds the frames of its live calls; `high` is 0 if unknown.
struct StackAbove {
  uint64_t thread;
  uint64_t sp;
  uint64_t high;

  // A frame further away than this lies on another stack: a signal handler's, a coroutine's.
  static constexpr uint64_t kLargest = uint64_t{1} << 30;

  // Has the frame that began at `frame_sp` returned? The stack above the stack pointer is mapped.
  RECRASH_SIGNAL_SAFE bool HasReturned(uint64_t frame_sp, uint64_t return_address) const {
    if (frame_sp <= sp) return sp - frame_sp < kLargest;
    if (frame_sp >= high || high - frame_sp < sizeof return_address) return false;
    uint64_t word = 0;
    memcpy(&word, reinterpret_cast<const void*>(frame_sp), sizeof word);
    return word != return_address;
  }
};

}  // namespace recrash::record

#endif  // RECRASH_AGENT_CLIENT_RECORD_STACK_ABOVE_H_
