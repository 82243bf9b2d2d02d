// Lets tests leave out a mechanism, to see that it is needed, or let something fail, to see that the report tells of
// it. Only builds with tests know of it.
//
//   if (!LeftOut("wipe_on_fork")) madvise(page, size, MADV_WIPEONFORK);
//   if (Fails("memory") || read(fd, page, size) != size) losses.push_back("…");
//
// A test of a mechanism in its own process sets g_left_out. One of the client, of the collector or of a replay, which
// run in another process, sets RECRASH_WITHOUT for it: left_out.cc is linked into those that are built for tests.
//
// Signal-safe.
#ifndef RECRASH_AGENT_BASE_SIGNAL_SAFE_LEFT_OUT_H_
#define RECRASH_AGENT_BASE_SIGNAL_SAFE_LEFT_OUT_H_

#include <string.h>

#include "shadowstack/abi.h"

namespace recrash {

#ifdef RECRASH_TESTING

inline namespace testing_build {  // other symbols than in what is shipped: one program may be linked of both

inline char g_left_out[256];  // names, with commas between

RECRASH_SIGNAL_SAFE inline bool LeftOut(const char* mechanism) {
  const size_t length = strlen(mechanism);
  for (const char* list = g_left_out; *list != 0;) {
    const size_t name = strcspn(list, ",");
    if (name == length && memcmp(list, mechanism, length) == 0) return true;
    list += name + (list[name] == ',' ? 1 : 0);
  }
  return false;
}

// A fail point: as if what stands beside it had failed. tests/e2e/test_losses.py has a case for each.
RECRASH_SIGNAL_SAFE inline bool Fails(const char* point) { return LeftOut(point); }

}  // namespace testing_build

#else

constexpr bool LeftOut(const char*) { return false; }
constexpr bool Fails(const char*) { return false; }

#endif

}  // namespace recrash

#endif  // RECRASH_AGENT_BASE_SIGNAL_SAFE_LEFT_OUT_H_
