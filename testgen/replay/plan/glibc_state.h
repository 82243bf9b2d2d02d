// Places in glibc's private data that a replay must know. They are found in recorded memory, without symbols.
#ifndef RECRASH_TESTGEN_REPLAY_PLAN_GLIBC_STATE_H_
#define RECRASH_TESTGEN_REPLAY_PLAN_GLIBC_STATE_H_

#include <vector>

#include "agent/report/report.h"

namespace recrash {

struct GlibcState {
  TargetAddress main_arena;  // 0: not found
  // The mutex of each arena. A thread that crashed inside malloc holds one: a replay would wait for it for ever.
  std::vector<TargetAddress> arena_mutexes;
};

GlibcState FindGlibcState(const Report& report);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_REPLAY_PLAN_GLIBC_STATE_H_
