// Lets tests leave out one remedy for what bites in a replay, to see that it is needed. Builds for users know nothing
// of it.
#ifndef RECRASH_TESTGEN_REPLAY_PLAN_LEFT_OUT_H_
#define RECRASH_TESTGEN_REPLAY_PLAN_LEFT_OUT_H_

#ifdef RECRASH_REPLAY_TESTING
#include <stdlib.h>
#include <string.h>

namespace recrash {

// RECRASH_REPLAY_WITHOUT names the remedies that are left out, with commas between.
inline bool LeftOut(const char* remedy) {
#ifdef RECRASH_REPLAY_GUEST
  // As it was at the start: later the environment is the dead process's.
  extern const char* const recrash_left_out_at_start;
  const char* list = recrash_left_out_at_start;
#else
  const char* list = getenv("RECRASH_REPLAY_WITHOUT");
#endif
  const size_t length = strlen(remedy);
  while (list && *list) {
    const size_t name = strcspn(list, ",");
    if (name == length && strncmp(list, remedy, length) == 0) return true;
    list += name + (list[name] == ',');
  }
  return false;
}

}  // namespace recrash
#else

namespace recrash {

constexpr bool LeftOut(const char*) { return false; }

}  // namespace recrash
#endif

#endif  // RECRASH_TESTGEN_REPLAY_PLAN_LEFT_OUT_H_
