// Tells which frames have returned.
//
// Signal-safe.
#ifndef RECRASH_AGENT_CLIENT_RECORD_RETURNED_FRAMES_H_
#define RECRASH_AGENT_CLIENT_RECORD_RETURNED_FRAMES_H_

#include <stdint.h>
#include <string.h>

#include "shadowstack/abi.h"
#include "shadowstack/log_format.h"

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

// Tells at an entry whether a frame of the version log has returned: it has if its function is entered again in the
// same thread, at or above its place on the stack. That counts even if this entry gets no snapshot, since another frame
// with the same return address lies there then.
//
// Each entry costs one look into a table. Functions with the same hash share a place, which costs a needless check.
class KeptFrames {
 public:
  RECRASH_SIGNAL_SAFE bool MayEnd(uint64_t entry, uint64_t thread, uint64_t sp) const {
    const uint64_t lowest = __atomic_load_n(&lowest_[Place(entry, thread)], __ATOMIC_RELAXED);
    return lowest != 0 && sp >= lowest;
  }

  // Updates the function's place after frames were added or dropped.
  RECRASH_SIGNAL_SAFE void Update(uint64_t entry, uint64_t thread, const LogFrame* frames, uint32_t count) {
    const uint32_t place = Place(entry, thread);
    uint64_t lowest = 0;
    for (uint32_t i = 0; i < count; ++i) {
      const uint64_t sp = frames[i].registers.sp;
      if (Place(frames[i].registers.entry, frames[i].thread) == place && (lowest == 0 || sp < lowest)) lowest = sp;
    }
    __atomic_store_n(&lowest_[place], lowest, __ATOMIC_RELAXED);
  }

 private:
  static constexpr uint32_t kPlaces = 4096;
  static uint32_t Place(uint64_t entry, uint64_t thread) { return ((entry ^ thread) * 0x9e3779b97f4a7c15ull) >> 52; }

  uint64_t lowest_[kPlaces];  // stack pointers; 0: none is kept
};

}  // namespace recrash::record

#endif  // RECRASH_AGENT_CLIENT_RECORD_RETURNED_FRAMES_H_
