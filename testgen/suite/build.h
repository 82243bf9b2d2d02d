// Builds the tests of a folder with CMake and runs them, as people will: the proof that they are red.
#ifndef RECRASH_TESTGEN_SUITE_BUILD_H_
#define RECRASH_TESTGEN_SUITE_BUILD_H_

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "agent/base/result.h"

namespace recrash {

// Can CMake build there? The error names what of the path it cannot take.
Status CheckBuildFolder(const std::filesystem::path& directory);

// Configures and builds DIR/build. kMissing: CMake cannot be run at all; kRefused: the tests do not build, with the
// last lines of the output.
Status BuildTests(const std::filesystem::path& directory);

enum class TestEnd { kPassed, kFailed, kSkipped };

struct TestResult {
  std::string suite;  // "CrashTest"
  std::string name;   // without DISABLED_
  TestEnd end = TestEnd::kSkipped;
  std::string why;  // the first line of what it said, if it did not pass
};

// Runs all tests of DIR/build/crash_test against `program`, disabled ones among them.
Result<std::vector<TestResult>> RunTests(const std::filesystem::path& directory, const std::string& program,
                                         bool sandbox);

// Runs DIR/build/crash_test. The names of the tests that fail as recorded.
Result<std::set<std::string>> RunBuiltTests(const std::filesystem::path& directory, const std::string& program,
                                            bool sandbox);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SUITE_BUILD_H_
