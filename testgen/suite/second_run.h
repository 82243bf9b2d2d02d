// `recrash run`, after a crash of a second-chance build: the program once more, with the crash's own profile, so that
// the report of the second crash knows the state at the entries of the functions on its stack.
#ifndef RECRASH_TESTGEN_SUITE_SECOND_RUN_H_
#define RECRASH_TESTGEN_SUITE_SECOND_RUN_H_

#include <optional>
#include <string>

#include "agent/base/result.h"
#include "agent/report/profile.h"
#include "testgen/suite/load.h"

namespace recrash {

// Standard input as the first run found it. The second must find it so as well.
class StandardInput {
 public:
  StandardInput();
  // False when what was read from it is gone: a pipe.
  bool Rewind() const;

 private:
  bool is_pipe_ = false;
  int64_t offset_ = -1;  // of a regular file
};

// The functions on the crash's stack that can be watched; none when the program was not built for that.
Profile FunctionsToWatch(const Crash& crash);

// A file for one run, gone with it.
class TemporaryProfile {
 public:
  static Result<TemporaryProfile> Write(const Profile& profile, const std::string& folder);
  TemporaryProfile(TemporaryProfile&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  ~TemporaryProfile();
  const std::string& path() const { return path_; }

 private:
  explicit TemporaryProfile(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// What is different, in words: "SIGSEGV in Drain, and then SIGABRT in Visit". Empty when both failed in the same way:
// the same signal or exception, in the same function, with the same functions on the stack.
std::string Difference(const Crash& first, const Crash& second);

// "SIGSEGV in Drain".
std::string FailureAndPlace(const Crash& crash);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SUITE_SECOND_RUN_H_
