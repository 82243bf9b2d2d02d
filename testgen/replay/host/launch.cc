#include "testgen/replay/host/launch.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "agent/base/printable_text.h"
#include "testgen/replay/host/build_types.h"
#include "testgen/replay/host/debug_files.h"
#include "testgen/replay/host/input_check.h"
#include "testgen/replay/host/inquiries.h"
#include "testgen/replay/host/sandbox_check.h"
#include "testgen/replay/host/subject.h"
#include "testgen/replay/plan/plan.h"

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

// A test that reads what the report does not hold can only be red as recorded with the very files.
std::vector<size_t> InputsNotAsRecorded(const TestReport& report, bool say) {
  if (std::ranges::all_of(report.replay.frames, [](const ReplayFrame& frame) { return frame.start.sealed; })) return {};
  std::vector<size_t> changed;
  for (const auto& [input, problem] : InputProblems(report)) {
    changed.push_back(input);
    if (!say) continue;
    std::fprintf(stderr, "recrash: note: %s, and the report does not hold it\n", PrintableText(problem).c_str());
  }
  return changed;
}

void SayWhatIsNotRun(const Subject& subject) {
  for (const std::string& why : subject.code.refused)
    std::fprintf(stderr, "recrash: note: %s", PrintableLines(why).c_str());
}

void SayWhatTheSandboxLacks() {
  const std::string lacks = WhatTheSandboxLacks();
  if (!lacks.empty()) std::fprintf(stderr, "recrash: %s\n", lacks.c_str());
}

Result<int> RunTests(const TestReport& report, const LaunchOptions& options, plan::InTwin* in_twin);

// `run` names the test, and gets what that said.
void RunInTwin(const TestReport& report, const LaunchOptions& of_program, plan::InTwin* run) {
  LaunchOptions options = of_program;
  options.program = of_program.twin;
  options.twin.clear();
  options.arguments = {"--gtest_filter=" + std::string(run->test), "--gtest_also_run_disabled_tests",
                       "--allow-undecided"};
  const Result<int> status = RunTests(report, options, run);
  if (!status) snprintf(run->text, sizeof run->text, "%s", PrintableText(status.error().message).c_str());
}

// What a subject that is a twin has said, if that is of the frame that was asked for.
void TakeAnswer(const plan::InTwin* said, plan::InTwin* in_twin) {
  if (!said || said->state != plan::kAnswered || said->frame != in_twin->frame) return;
  in_twin->verdict = said->verdict;
  memcpy(in_twin->text, said->text, sizeof in_twin->text);
}

// Runs the tests in the program or, with `in_twin`, the one that it names in a twin.
Result<int> RunTests(const TestReport& report, const LaunchOptions& options, plan::InTwin* in_twin) {
  Result<Subject> subject = PrepareSubject(report, options.program, options.code);
  if (!subject) return subject.error();
  subject->allow_same_bases = options.allow_same_bases;
  subject->arguments = options.arguments;
  subject->argv0 = options.argv0;
  subject->quiet = in_twin != nullptr;
  if (!in_twin) SayWhatIsNotRun(*subject);
  if (options.sandbox && !in_twin) SayWhatTheSandboxLacks();
  const bool in_process = options.in_process || IsDebugged();
  PlanOptions plan_options;
  plan_options.changed_inputs = InputsNotAsRecorded(report, in_twin == nullptr);
  plan_options.test_library = options.test_library;
  plan_options.report_path = options.report_path;
  Inquiries inquiries(report, *subject, options.code.search_paths);
  plan_options.inquiries_fd = inquiries.descriptor();
  plan_options.seconds_per_frame = options.seconds_per_frame;
  plan_options.flags = in_process ? plan::kInProcess | plan::kShowOutput : 0;
  if (options.sandbox) plan_options.flags |= plan::kSandbox;
  if (std::getenv("RECRASH_REPLAY_OUTPUT")) plan_options.flags |= plan::kShowOutput;
  if (in_twin) plan_options.flags |= plan::kIsTwin;
  if (!options.twin.empty() && !in_process) plan_options.flags |= plan::kHasTwin;
  plan_options.to_load = subject->code.to_load;
  plan_options.trust_report = subject->trust_report;
  BuildTypes types = FitToBuild(report, *subject, options.code.search_paths);
  for (const std::string& note : types.notes) std::fprintf(stderr, "recrash: note: %s\n", PrintableText(note).c_str());
  types.MoveTo(&plan_options);
  Result<Fd> plan = BuildPlan(types.report(report), subject->program, subject->rebuilt_libraries, plan_options);
  if (!plan) return plan.error();
  if (in_process) {
    subject->debug_files = FindDebugFiles(report, *subject, options.code.search_paths);
    inquiries.AnswerBeside();
    return ExecSubject(*subject, *plan);
  }
  if (!options.twin.empty()) inquiries.RunInTwin([&](plan::InTwin* run) { RunInTwin(report, options, run); });
  inquiries.AnswerMeanwhile();
  Result<int> status = RunSubject(report, *subject, *plan, nullptr);
  if (in_twin) TakeAnswer(inquiries.in_twin(), in_twin);
  return status;
}

}  // namespace

Result<int> Launch(const TestReport& report, const LaunchOptions& options) {
  return RunTests(report, options, nullptr);
}

}  // namespace recrash
