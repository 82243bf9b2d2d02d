// Keeps the program that a link step is about to overwrite, if it has crashed: its report can then be reproduced after
// the build (agent/elf/kept_programs.h).
//
//   KeepCrashedOutput("build/server");
//
// Reports are read by nobody here. A program has crashed if the store has a report of its name that is younger than its
// file. Without a store this is one system call. A link never fails because of it.
#ifndef RECRASH_INTEGRATIONS_COMPILER_CRASHED_OUTPUT_H_
#define RECRASH_INTEGRATIONS_COMPILER_CRASHED_OUTPUT_H_

#include <filesystem>

namespace recrash::compiler {

void KeepCrashedOutput(const std::filesystem::path& output);

}  // namespace recrash::compiler

#endif  // RECRASH_INTEGRATIONS_COMPILER_CRASHED_OUTPUT_H_
