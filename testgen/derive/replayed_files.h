// The program's descriptors in a process that replays one of its frames.
#ifndef RECRASH_TESTGEN_DERIVE_REPLAYED_FILES_H_
#define RECRASH_TESTGEN_DERIVE_REPLAYED_FILES_H_

#include <sys/types.h>

#include <vector>

#include "agent/report/report.h"

namespace recrash {

// `recorded`: the descriptors that the replay began with. `begin`: all descriptors of its process at that time, its own
// ones too. The result names the files as the program had them: the replay itself has anonymous files in place of
// inputs, and /dev/null in place of what it would write.
std::vector<OpenFile> ProgramsFiles(const Report& report, const std::vector<OpenFile>& recorded,
                                    const std::vector<OpenFile>& begin, pid_t process);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_DERIVE_REPLAYED_FILES_H_
