// recrash generate, verify and reproduce.
#include "integrations/cli/tests.h"

#include <fmt/format.h>

#include "agent/base/printable_text.h"
#include "integrations/cli/json.h"
#include "integrations/cli/store.h"
#include "integrations/cli/terminal.h"
#include "testgen/suite/fixed.h"

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

Result<Suite> FramesOf(const ReportArguments& target, Request request) {
  request.program = target.program;
  request.search_paths = target.search_paths;
  std::error_code error;
  if (!target.report.empty() && std::filesystem::is_directory(target.report, error)) {
    request.folder = target.report;
  } else {
    const Result<std::filesystem::path> report = FindReport(target.report, target.program);
    if (!report) return report.error();
    request.report = *report;
  }
  TerminalObserver observer;
  return FindReproduced(request, &observer);
}

VerifyOptions ReplaysOf(const Suite& suite) {
  VerifyOptions options;
  options.program = suite.program;
  options.code = suite.code();
  options.sandbox = suite.sandbox;
  return options;
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

namespace {

int VerifyFix(const TestsArguments& arguments) {
  const std::filesystem::path& folder = arguments.request.folder;
  const auto compared = CompareWithFix(folder, {arguments.fixed, arguments.request.twin}, arguments.request.sandbox);
  if (!compared) return Fail(compared.error());
  const std::vector<AfterFix>* const tests = &compared->tests;
  const Result<size_t> enabled = KeepWhatDiscriminates(folder, *tests);
  if (!enabled) return Fail(enabled.error());
  nlohmann::ordered_json json = {{"fixed", arguments.fixed}, {"tests", nlohmann::ordered_json::array()}};
  size_t width = 0;
  for (const AfterFix& test : *tests) width = std::max(width, test.name.size());
  for (const AfterFix& test : *tests) {
    json["tests"].push_back({{"name", test.name}, {"turned_green", test.turned_green}, {"why_not", test.why_not}});
    if (arguments.json == "-") continue;
    const std::string text = test.turned_green ? Coloured(Colour::kGood, "turned green")
                                               : Coloured(Colour::kBad, PrintableText(test.why_not));
    fmt::print("  {:<{}}  {}\n", PrintableText(test.name), width, text);
  }
  if (arguments.json != "-")
    fmt::print("recrash: {} of {} tests turned green; {} in {}\n", *enabled, tests->size(),
               *enabled == tests->size() ? "all are enabled" : "the others are disabled",
               PrintableText((folder / "crash_test.cc").string()));
  if (compared->left_alone > 0)
    Note(fmt::format("{} more test{} the twin, and {} left as {}: give --twin the twin of the fixed sources",
                     compared->left_alone, compared->left_alone == 1 ? " runs in" : "s run in",
                     compared->left_alone == 1 ? "is" : "are", compared->left_alone == 1 ? "it is" : "they are"));
  const Status written = WriteJson(json, arguments.json);
  if (!written) return Fail(written.error());
  return *enabled > 0 ? kSuccess : kNothingReproduced;
}

}  // namespace

int VerifyCommand(const TestsArguments& arguments) {
  if (!arguments.fixed.empty()) return VerifyFix(arguments);
  return ReportTests(MakeTestsHere(arguments.request), arguments);
}

int ReproduceCommand(const TestsArguments& arguments) {
  return ReportTests(MakeTestsOf(arguments.report, arguments.request), arguments);
}

}  // namespace recrash::cli
