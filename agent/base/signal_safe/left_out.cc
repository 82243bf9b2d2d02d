// Linked into what tests run in other processes, and into nothing else.
#include "agent/base/signal_safe/left_out.h"

#include <stdlib.h>

namespace recrash {
namespace {

// Copied: a replay writes the dead process's environment over ours.
__attribute__((constructor(101))) void ReadLeftOut() {
  if (const char* names = getenv("RECRASH_WITHOUT")) strncpy(g_left_out, names, sizeof g_left_out - 1);
}

}  // namespace
}  // namespace recrash
