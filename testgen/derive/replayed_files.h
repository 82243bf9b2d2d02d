// The program's descriptors in a process that replays one of its frames.
#ifndef RECRASH_TESTGEN_DERIVE_REPLAYED_FILES_H_
#define RECRASH_TESTGEN_DERIVE_REPLAYED_FILES_H_

#include <sys/types.h>

#include <vector>

#include "agent/report/report.h"

namespace recrash {

// `recorded` are those with which the replay began, `begin` what these were in its process then, with its own. The
// files themselves are what they were in the program: a replay has inputs as anonymous files, and /dev/null where it
// would write.
std::vector<OpenFile> ProgramsFiles(const Report& report, const std::vector<OpenFile>& recorded,
                                    const std::vector<OpenFile>& begin, pid_t process);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_DERIVE_REPLAYED_FILES_H_
