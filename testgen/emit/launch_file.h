// Writes .vscode/launch.json: how VS Code's C++ extension (cppdbg) debugs each test in gdb.
#ifndef RECRASH_TESTGEN_EMIT_LAUNCH_FILE_H_
#define RECRASH_TESTGEN_EMIT_LAUNCH_FILE_H_

#include <string>
#include <vector>

#include "testgen/emit/emit.h"

namespace recrash {

// Returns the whole text: a configuration for each test, and one more in the twin if there is one. Paths are relative
// to the folder of tests and to its build, so that the folder can be moved and committed.
std::string EmitLaunchFile(const TestReport& report, const Backtrace& backtrace, const std::vector<EmittedTest>& tests,
                           bool has_twin);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_EMIT_LAUNCH_FILE_H_
