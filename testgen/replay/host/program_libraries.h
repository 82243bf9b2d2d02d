// The libraries that the loader maps with a program.
#ifndef RECRASH_TESTGEN_REPLAY_HOST_PROGRAM_LIBRARIES_H_
#define RECRASH_TESTGEN_REPLAY_HOST_PROGRAM_LIBRARIES_H_

#include <string>
#include <vector>

#include "agent/report/report.h"
#include "testgen/replay/plan/program_file.h"

namespace recrash {

struct LoadedLibraries {
  std::vector<std::string> paths;
  std::vector<std::string> missing;  // names that the loader finds nowhere
};

// What ld.so would load with the program at its start, if it looks into `folders` too; nothing of it runs. Empty where
// that cannot be found out.
LoadedLibraries ListLibraries(const ProgramFile& program, const std::vector<std::string>& folders);

// LD_LIBRARY_PATH of our own environment, and the folders behind it.
std::string LibraryPath(const std::vector<std::string>& folders);

// Of these the file that takes a library's place now: by path, else by name, as the replay pairs them. Empty: none.
std::string FileNow(const Module& module, const std::vector<std::string>& loaded);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_REPLAY_HOST_PROGRAM_LIBRARIES_H_
