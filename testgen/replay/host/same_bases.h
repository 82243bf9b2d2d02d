// Makes ld.so put every recorded file where the dead process had it.
//
// The loader's first mmap of a file (the one with an address of its own choosing) decides the file's place. Under
// ptrace its address argument is replaced by the recorded one. On Debian 12 a C++ program takes about 160 stops; some
// 11 words (into ld.so, which the kernel places) are then left to be translated, instead of about 870.
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

// `subject` has called PTRACE_TRACEME and is about to exec. `program` is the path under which the program is opened,
// `rebuilt` has the indices of modules that are other builds now: where they were, their recorded images go.
ForcedBases ForceBases(pid_t subject, const Report& report, const std::string& program,
                       const std::vector<size_t>& rebuilt);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_REPLAY_HOST_SAME_BASES_H_
