// Makes ld.so put each recorded file where the dead process had it.
//
// The loader's first mmap of a file decides the file's place: it lets the kernel choose. Under ptrace the recorded
// address is put in. On Debian 12 that takes about 160 stops for a C++ program. Some 11 words are then left to be
// translated, those into ld.so, which the kernel places; without it, about 870.
#ifndef RECRASH_TESTGEN_REPLAY_HOST_SAME_BASES_H_
#define RECRASH_TESTGEN_REPLAY_HOST_SAME_BASES_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "agent/report/report.h"

namespace recrash {

enum class Forced {
  kReached,   // the subject reached its marker and runs free
  kEnded,     // it ended before, by itself: `status`
  kOccupied,  // a recorded base was not free; the subject has been killed
  kRefused,   // ptrace does not work here; the subject has been killed
};

struct ForcedBases {
  Forced outcome = Forced::kEnded;
  int status = 0;  // wait status, with kEnded
};

// Traces the subject until it reaches its marker or ends. `program` is the path under which the program is opened.
// `rebuilt` has the indexes of modules that are other builds now: their places are left to their recorded images.
// REQUIRES: `subject` is a child of this process, has called PTRACE_TRACEME, and execs next.
ForcedBases ForceBases(pid_t subject, const Report& report, const std::string& program,
                       const std::vector<size_t>& rebuilt);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_REPLAY_HOST_SAME_BASES_H_
