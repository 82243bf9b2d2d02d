// The libraries that the loader maps with a program.
#ifndef RECRASH_TESTGEN_REPLAY_HOST_PROGRAM_LIBRARIES_H_
#define RECRASH_TESTGEN_REPLAY_HOST_PROGRAM_LIBRARIES_H_

#include <string>
#include <vector>

#include "agent/report/report.h"
#include "testgen/replay/plan/program_file.h"

namespace recrash {

// What ld.so would load with the program at its start; nothing of it runs. Empty where that cannot be found out.
std::vector<std::string> ListLibraries(const ProgramFile& program);

// Of these the file that takes a library's place now: by path, else by name, as the replay pairs them. Empty: none.
std::string FileNow(const Module& module, const std::vector<std::string>& loaded);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_REPLAY_HOST_PROGRAM_LIBRARIES_H_
