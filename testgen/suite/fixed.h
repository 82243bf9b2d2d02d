// After a fix: which tests turned green. Those that did are a regression suite; the others are disabled, with the
// reason.
//
//   Result<Comparison> compared = CompareWithFix("crash", {"./server-fixed"}, true);
//   if (compared) KeepWhatDiscriminates("crash", compared->tests);
#ifndef RECRASH_TESTGEN_SUITE_FIXED_H_
#define RECRASH_TESTGEN_SUITE_FIXED_H_

#include <filesystem>
#include <string>
#include <vector>

#include "agent/base/result.h"
#include "testgen/suite/build.h"

namespace recrash {

struct AfterFix {
  std::string suite;  // CrashTest or CrashTestInTwin
  std::string name;   // of the test, without DISABLED_
  bool turned_green = false;
  std::string why_not;  // one sentence; empty if it turned green
};

struct FixedBuild {
  std::string program;
  std::string twin = {};  // of the fixed sources; empty: the tests that need one are left as they are
};

struct Comparison {
  std::vector<AfterFix> tests;
  size_t left_alone = 0;  // tests that run in a twin, where none was given
};

// Runs the tests of the folder against the fixed build. A test that is green there has to be red on the build that the
// folder names, if that file is there and is another one: else it was seen to be red when it was made.
Result<Comparison> CompareWithFix(const std::filesystem::path& directory, const FixedBuild& fixed, bool sandbox);

// Puts DISABLED_ and the reason before the tests that did not turn green, takes both away from those that did, and
// builds the tests. The rest of crash_test.cc stays as it is. Returns how many tests are enabled.
Result<size_t> KeepWhatDiscriminates(const std::filesystem::path& directory, const std::vector<AfterFix>& tests);

// The source text that results; it is what KeepWhatDiscriminates writes.
std::string WithDisabled(const std::string& source, const std::vector<AfterFix>& tests);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SUITE_FIXED_H_
