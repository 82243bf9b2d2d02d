// How a replay ended. Shared by generated tests, the library in the test process and the tools.
#ifndef RECRASH_VERDICT_H_
#define RECRASH_VERDICT_H_

#include <cstdint>

namespace recrash {

enum class Verdict : uint32_t {
  kCannotReplay = 0,
  kReproduced = 1,  // the same failure in the same place
  kDifferentFailure = 2,
  kReturned = 3,
  kExited = 4,
  kTimedOut = 5,
  kUnstable = 6,  // of verification, not of a replay: some of several replays reproduced, others did not
};

}  // namespace recrash

#endif  // RECRASH_VERDICT_H_
