// Tells at an entry whether a kept frame has returned: it has if its function is entered again in the same thread, at
// or above its place on the stack. That counts even if this entry gets no snapshot, since another frame with the same
// return address lies there then.
//
// Each entry costs one look into a table. Functions with the same hash share a place, which costs a needless check.
// Signal-safe.
#ifndef RECRASH_AGENT_CLIENT_RECORD_KEPT_FRAMES_H_
#define RECRASH_AGENT_CLIENT_RECORD_KEPT_FRAMES_H_

#include <stdint.h>

#include "shadowstack/abi.h"
#include "shadowstack/log_format.h"

namespace recrash::record {

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

#endif  // RECRASH_AGENT_CLIENT_RECORD_KEPT_FRAMES_H_
