#include "testgen/replay/launch.h"

#include <cstdlib>
#include <fstream>
#include <string>

#include "testgen/replay/plan.h"
#include "testgen/replay/subject.h"

namespace recrash {
namespace {

bool IsDebugged() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.starts_with("TracerPid:")) return std::strtol(line.c_str() + 10, nullptr, 10) != 0;
  }
  return false;
}

}  // namespace

Result<int> Launch(const Report& report, const LaunchOptions& options) {
  Result<Subject> subject = PrepareSubject(report, options.program, options.replay_library);
  if (!subject) return subject.error();
  subject->allow_same_bases = options.allow_same_bases;
  subject->arguments = options.arguments;
  subject->argv0 = options.argv0;
  const bool in_process = options.in_process || IsDebugged();
  PlanOptions plan_options;
  plan_options.program = subject->program.path;
  plan_options.test_library = options.test_library;
  plan_options.report_path = options.report_path;
  plan_options.seconds_per_frame = options.seconds_per_frame;
  plan_options.flags = in_process ? plan::kInProcess | plan::kShowOutput : plan::kSandbox;
  if (std::getenv("RECRASH_REPLAY_OUTPUT")) plan_options.flags |= plan::kShowOutput;
  Result<PlanFile> plan = BuildPlan(report, subject->program, subject->rebuilt_libraries, plan_options);
  if (!plan) return plan.error();
  if (in_process) return ExecSubject(*subject, *plan);
  return RunSubject(report, *subject, *plan, nullptr);
}

}  // namespace recrash
