// For the build for tests alone.
#include "testgen/replay/plan/left_out.h"

#include <stdlib.h>

namespace recrash {

extern const char* const recrash_left_out_at_start;
const char* const recrash_left_out_at_start = getenv("RECRASH_REPLAY_WITHOUT");

}  // namespace recrash
