// Which frames of a thread have returned, as far as its stack tells.
//
// Signal-safe.
#ifndef RECRASH_AGENT_CLIENT_RECORD_STACK_ABOVE_H_
#define RECRASH_AGENT_CLIENT_RECORD_STACK_ABOVE_H_

#include <stdint.h>
#include <string.h>

#include "shadowstack/abi.h"

namespace recrash::record {

// The part of a thread's stack that holds the frames of its live calls; `high` is 0 where nobody knows.
struct StackAbove {
  uint64_t thread;
  uint64_t sp;
  uint64_t high;

  // A frame further away than any stack is large lies on another one: that of a signal handler, of a coroutine.
  static constexpr uint64_t kLargest = uint64_t{1} << 30;

  // Has the frame that began at `frame_sp` returned? What lies above the stack pointer can be read.
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
