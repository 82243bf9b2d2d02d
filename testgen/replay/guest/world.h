// What every part of the replay library looks at: the plan, and how far things are.
#ifndef RECRASH_TESTGEN_REPLAY_GUEST_WORLD_H_
#define RECRASH_TESTGEN_REPLAY_GUEST_WORLD_H_

#include <stddef.h>
#include <stdint.h>

#include "testgen/replay/plan/plan.h"

namespace recrash::replay {

struct World {
  char* bytes = nullptr;  // the plan, mapped privately: translated in place
  const plan::Header* plan = nullptr;
  int plan_fd = -1;
  int null_fd = -1;  // /dev/null, for what the sandbox redirects
  // Set in the child once recorded memory is back: interposed functions behave differently from then on.
  volatile bool restored = false;
};

extern World world;

inline bool Has(plan::Flags flag) { return world.plan->flags & flag; }

inline const char* TextOf(plan::Text text) { return world.bytes + world.plan->text.offset + text; }

template <typename T>
struct Table {
  T* first;
  size_t count;
  T* begin() const { return first; }
  T* end() const { return first + count; }
  T& operator[](size_t i) const { return first[i]; }
};

template <typename T>
Table<T> TableOf(const plan::Array& array) {
  return {reinterpret_cast<T*>(world.bytes + array.offset), array.count};
}

// Address of a run's bytes in the plan.
inline uint64_t ContentOf(const plan::Run& run) {
  return reinterpret_cast<uint64_t>(world.bytes + world.plan->contents + run.offset);
}

// Says why there is no replay (to the verifying tool, or on stderr) and ends the subject.
[[noreturn]] void Problem(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace recrash::replay

#endif  // RECRASH_TESTGEN_REPLAY_GUEST_WORLD_H_
