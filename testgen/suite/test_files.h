// The last steps: the files of the tests, as they have to be so that they compile and fail as the program did.
#ifndef RECRASH_TESTGEN_SUITE_TEST_FILES_H_
#define RECRASH_TESTGEN_SUITE_TEST_FILES_H_

#include <cstdint>
#include <vector>

#include "agent/base/result.h"
#include "testgen/emit/emit.h"
#include "testgen/suite/folder.h"
#include "testgen/suite/observer.h"

namespace recrash {

class TestFiles {
 public:
  TestFiles(Suite* suite, Observer* observer) : suite_(suite), observer_(observer) {}

  // Of frames that were not replayed, or did not reproduce: for people to read.
  Status EmitCandidates();
  // A test for each frame of suite->report.replay: first those that a fix can turn green.
  Status Emit();
  // When names of the user's types do not compile outside of the program: once more without them.
  Status Build();
  // Runs the built tests. One that does not fail as recorded is built again without literals of its own, and dropped
  // when that does not help. The frames whose tests were dropped.
  Result<std::vector<uint32_t>> Check();

 private:
  Status EmitAndBuild();
  Result<std::vector<uint32_t>> NotRed() const;

  Suite* suite_;
  Observer* observer_;
  EmitOptions options_;
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SUITE_TEST_FILES_H_
