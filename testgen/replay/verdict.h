// How a replay ended. Shared by the library in the test process and by the tools.
#ifndef RECRASH_TESTGEN_REPLAY_VERDICT_H_
#define RECRASH_TESTGEN_REPLAY_VERDICT_H_

#include <cstdint>

namespace recrash {

enum class Verdict : uint32_t {
  kCannotReplay = 0,
  kReproduced = 1,        // the same failure in the same place
  kDifferentFailure = 2,
  kReturned = 3,
  kExited = 4,
  kTimedOut = 5,
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_REPLAY_VERDICT_H_
