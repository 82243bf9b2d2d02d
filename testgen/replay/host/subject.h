// Starts the subject on a plan and waits for it, for tests and for verification.
//
//   const Result<Subject> subject = PrepareSubject(report, "./server", {}, "");
//   const Result<Fd> plan = BuildPlan(report, subject->program, subject->rebuilt_libraries, options);
//   const Result<int> status = RunSubject(report, *subject, *plan, nullptr);
#ifndef RECRASH_TESTGEN_REPLAY_HOST_SUBJECT_H_
#define RECRASH_TESTGEN_REPLAY_HOST_SUBJECT_H_

#include <functional>
#include <string>
#include <vector>

#include "agent/base/result.h"
#include "agent/report/report.h"
#include "testgen/replay/host/code_files.h"
#include "testgen/replay/plan/plan_builder.h"
#include "testgen/replay/plan/program_file.h"

namespace recrash {

struct Subject {
  ProgramFile program;  // path resolved
  std::vector<RebuiltLibrary> rebuilt_libraries;
  LoadedCode code;
  bool trust_report = false;
  std::string replay_library;
  std::vector<std::string> debug_files;  // for a debugger, "BUILD-ID PATH": what it would not find itself
  std::vector<std::string> preload;      // beside the replay library: agents that were preloaded into the dead process
  bool allow_same_bases = true;
  std::vector<std::string> arguments;
  std::string argv0;
  bool quiet = false;  // it prints nothing, and takes nothing from GoogleTest's variables
};

// Checks that the program can be replayed and that the system's libraries are the recorded ones; finds the program's
// own libraries that were rebuilt since the crash. `sources` says where else code may come from. The replay library is
// that of the installation; tests may give another `support_directory`.
Result<Subject> PrepareSubject(const TestReport& report, const std::string& program, const CodeSources& sources,
                               const std::string& support_directory = "");

// Runs the subject to its end and returns its wait status. If addresses collide, it starts the subject again. Meanwhile
// it calls `attend` again and again until that returns false. `attend` does what there is to do for the subject, or
// waits for that a few hundredths of a second; null: nothing.
Result<int> RunSubject(const TestReport& report, const Subject& subject, const Fd& plan,
                       const std::function<bool()>& attend);

// Replaces this process by the subject. Returns only if that fails.
Error ExecSubject(const Subject& subject, const Fd& plan);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_REPLAY_HOST_SUBJECT_H_
