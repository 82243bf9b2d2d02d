// The place of the folders that replays stand in, and the process that removes it when this one cannot.
//
// Who made a folder removes it after the run; killed (by hand, by the kernel for its memory, by a debugger that quits)
// it does not. A shell waits for that at a pipe whose other end this process and its copies hold, and removes what is
// left when the last of them has gone.
#ifndef RECRASH_TESTGEN_REPLAY_GUEST_KEEPER_H_
#define RECRASH_TESTGEN_REPLAY_GUEST_KEEPER_H_

#include <sys/types.h>

namespace recrash::replay {

struct Keeper {
  char folder[4096];  // empty: none yet
  pid_t process;      // 0: none
};

// The folder for those of the runs, made at the first call. Workers share that of the process that they are copied
// from.
const char* KeptFolder();

// Before the process ends by itself: nothing is left then, and nobody waits.
void RemoveKeptFolder();

}  // namespace recrash::replay

#endif  // RECRASH_TESTGEN_REPLAY_GUEST_KEEPER_H_
