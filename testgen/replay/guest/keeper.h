// The place of the folders that replays stand in, and the process that removes it when this one cannot.
//
// The process that made a folder removes it after the run, unless it is killed: by hand, by the kernel for its memory,
// by a debugger that quits. So a shell waits at a pipe whose other end this process and its copies hold. When the last
// of them has gone, the shell removes what is left.
#ifndef RECRASH_TESTGEN_REPLAY_GUEST_KEEPER_H_
#define RECRASH_TESTGEN_REPLAY_GUEST_KEEPER_H_

#include <sys/types.h>

namespace recrash::replay {

struct Keeper {
  char folder[4096];  // empty: none yet
  pid_t process;      // 0: none
};

// Returns whether `path` is absolute, and a folder that can be entered.
bool IsFolder(const char* path);

// Returns the folder in which the runs' folders are made. The first call makes it. Workers share the folder of the
// process that started them.
const char* KeptFolder();

// Removes that folder and ends the shell. REQUIRES: the process is about to end by itself.
void RemoveKeptFolder();

}  // namespace recrash::replay

#endif  // RECRASH_TESTGEN_REPLAY_GUEST_KEEPER_H_
