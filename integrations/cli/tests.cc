// recrash generate, verify and reproduce.
#include "integrations/cli/tests.h"

#include <fmt/format.h>

#include "agent/base/printable_text.h"
#include "integrations/cli/store.h"
#include "integrations/cli/terminal.h"

namespace recrash::cli {
namespace {

Result<Outcome> MakeTestsHere(const Request& request) {
  TerminalObserver observer;
  return MakeTests(request, &observer);
}

int ReportTests(const Result<Outcome>& outcome, const TestsArguments& arguments) {
  if (!outcome) return Fail(outcome.error());
  return ReportOutcome(*outcome, arguments.request.goal == Goal::kTests, arguments.json);
}

}  // namespace

Result<Outcome> MakeTestsOf(const ReportArguments& report, Request request) {
  const Result<std::filesystem::path> path = FindReport(report.report, report.program);
  if (!path) return path.error();
  request.report = *path;
  request.program = report.program;
  request.search_paths = report.search_paths;
  return MakeTestsHere(request);
}

int GenerateCommand(const TestsArguments& arguments) {
  const Result<Outcome> outcome = MakeTestsOf(arguments.report, arguments.request);
  if (!outcome) return Fail(outcome.error());
  const Suite& suite = outcome->suite;
  const size_t count = suite.report.replay.frames.size();
  const size_t tests = outcome->kept.size();
  const std::string directory = PrintableText(suite.directory.string());
  fmt::print("recrash: {} candidate{} in {}/crash_test.cc{}\n  not verified yet: recrash verify {}\n", count,
             count == 1 ? "" : "s", directory,
             tests < count ? fmt::format("; of a recursion {} are written out, a few of each function", tests) : "",
             directory);
  return kSuccess;
}

int VerifyCommand(const TestsArguments& arguments) { return ReportTests(MakeTestsHere(arguments.request), arguments); }

int ReproduceCommand(const TestsArguments& arguments) {
  return ReportTests(MakeTestsOf(arguments.report, arguments.request), arguments);
}

}  // namespace recrash::cli
