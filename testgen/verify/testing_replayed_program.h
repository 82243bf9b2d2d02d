// For tests: a program that crashes, its report, and the verdicts on its frames.
#ifndef RECRASH_TESTGEN_VERIFY_TESTING_REPLAYED_PROGRAM_H_
#define RECRASH_TESTGEN_VERIFY_TESTING_REPLAYED_PROGRAM_H_

#include <functional>
#include <string>
#include <vector>

#include "agent/report/report.h"
#include "testgen/symbols/testing_crashed_process.h"
#include "testgen/verify/verify.h"

namespace recrash {

class ReplayedProgram {
 public:
  // Compiles `source` with the pass, the agent and `flags`, runs it until it crashes with RECRASH_OPTIONS=`options`
  // after the shell command `before`, reads report and frames.
  explicit ReplayedProgram(const std::string& source, const std::string& flags = "-O2 -g",
                           const std::vector<std::string>& arguments = {}, const std::string& mode = "references",
                           const std::string& options = "", const std::string& before = "true");

  // The verdict on the innermost frame whose function's name begins with `function`.
  FrameVerdict Verify(const std::string& function, const VerifyOptions& options = {}) const;
  // All verdicts; the options' program and support directory are filled in.
  Result<std::vector<FrameVerdict>> VerifyAll(const VerifyOptions& options = {}) const;

  Fixture& fixture() { return fixture_; }
  const Fixture& fixture() const { return fixture_; }
  TestReport& report() { return report_; }
  const TestReport& report() const { return report_; }
  // What the program wrote by RECRASH_REPORT before it crashed, oldest first.
  const std::vector<Report>& reported() const { return reported_; }
  // The same with a program that is built anew from `source`; returns its path, for VerifyOptions::program.
  std::string Rebuild(const std::string& source, const std::string& flags = "-O2 -g");

  // Where root runs the tests, calls `check` in a process of another user, who may read the program's folder; what it
  // expects counts. Elsewhere in this process.
  void AsAnotherUser(const std::function<void()>& check) const;

  // Of what was verified last: a line for each frame.
  const std::string& text() const { return text_; }

 private:
  Report Crash(const std::vector<std::string>& arguments, const std::string& options, const std::string& before);

  Fixture fixture_;
  std::vector<Report> reported_;
  TestReport report_;
  mutable std::string text_;
};

// Names of frames with their verdicts, for messages.
std::string VerdictText(const TestReport& report, const std::vector<FrameVerdict>& verdicts);

// While it lives, the replays of this test do without these remedies (left_out.h).
class LeaveOut {
 public:
  explicit LeaveOut(const std::string& remedies);
  ~LeaveOut();
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_VERIFY_TESTING_REPLAYED_PROGRAM_H_
