// `recrash run` after a crash of a second-chance build: the program is run again with a profile of that crash, so that
// the second report has the entry states of the functions on the stack.
#ifndef RECRASH_TESTGEN_SUITE_SECOND_RUN_H_
#define RECRASH_TESTGEN_SUITE_SECOND_RUN_H_

#include <optional>
#include <string>

#include "agent/base/result.h"
#include "agent/report/profile.h"
#include "testgen/suite/load.h"

namespace recrash {

// Standard input as the first run found it. The second run must find the same.
class StandardInput {
 public:
  StandardInput();
  // False for a pipe: what was read from it is gone.
  bool Rewind() const;

 private:
  bool is_pipe_ = false;
  int64_t offset_ = -1;  // of a regular file
};

// The functions on the crash's stack that can be watched; none when the program was not built for that.
Result<Profile> FunctionsToWatch(const Crash& crash);

// A profile for one run; its file is removed with the object.
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

// How two crashes differ: "SIGSEGV in Drain, and then SIGABRT in Visit". Empty when they have the same signal or
// exception, in the same function, with the same functions on the stack.
std::string Difference(const Crash& first, const Crash& second);

// "SIGSEGV in Drain".
std::string FailureAndPlace(const Crash& crash);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SUITE_SECOND_RUN_H_
