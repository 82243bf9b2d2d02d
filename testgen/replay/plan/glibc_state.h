// The few places inside glibc's private data that a replay must know, found in recorded memory without symbols.
#ifndef RECRASH_TESTGEN_REPLAY_PLAN_GLIBC_STATE_H_
#define RECRASH_TESTGEN_REPLAY_PLAN_GLIBC_STATE_H_

#include <vector>

#include "agent/report/report.h"

namespace recrash {

struct GlibcState {
  TargetAddress main_arena;  // 0 when it was not found
  // One for each arena. A thread that crashed inside malloc holds its arena's mutex; a replay of it would wait for
  // ever.
  std::vector<TargetAddress> arena_mutexes;
};

GlibcState FindGlibcState(const Report& report);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_REPLAY_PLAN_GLIBC_STATE_H_
