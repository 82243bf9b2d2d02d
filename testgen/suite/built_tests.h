// The tests of a folder, built by CMake and run: the proof that what was kept is red as people will run it.
#ifndef RECRASH_INTEGRATIONS_CLI_BUILT_TESTS_H_
#define RECRASH_INTEGRATIONS_CLI_BUILT_TESTS_H_

#include <filesystem>
#include <map>
#include <string>

#include "agent/base/result.h"

namespace recrash::cli {

struct BuildOutcome {
  bool ok = false;
  std::string output;  // of the step that failed
};
// Configures and builds DIR/build. An Error when CMake cannot be run at all.
Result<BuildOutcome> BuildTests(const std::filesystem::path& directory);

struct TestOutcome {
  bool passed = false;
  std::string message;  // of its failures
};
// Runs DIR/build/crash_test with --expect=fail, which passes the tests that fail as recorded. By test name.
Result<std::map<std::string, TestOutcome>> RunBuiltTests(const std::filesystem::path& directory,
                                                         const std::string& program);

}  // namespace recrash::cli

#endif  // RECRASH_INTEGRATIONS_CLI_BUILT_TESTS_H_
