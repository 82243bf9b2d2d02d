// recrash debug: gdb at the entry of a frame, in the test process.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "integrations/cli/commands.h"
#include "integrations/cli/store.h"
#include "integrations/cli/terminal.h"
#include "testgen/suite/built_tests.h"
#include "testgen/suite/pipeline.h"
#include "testgen/suite/subprocess.h"
#include "testgen/suite/support.h"

namespace recrash::cli {
namespace fs = std::filesystem;
namespace {

// The folder of built tests for what the user named; made now when there is none yet.
Result<fs::path> BuiltSuite(const DebugArguments& arguments) {
  std::error_code error;
  fs::path directory = arguments.target;
  if (arguments.target.empty() || !fs::is_directory(directory, error)) {
    const Result<fs::path> report = FindReport(arguments.target, arguments.program);
    if (!report) return report.error();
    // Tests are made from a report of their own, which lies beside them.
    directory =
        report->filename() == "crash_test.rcr" ? report->parent_path() : fs::path(ReportName(*report) + "-tests");
    if (directory.empty()) directory = ".";
    if (!IsSuite(directory)) {
      GenerateArguments generate;
      generate.report = {report->string(), arguments.program, arguments.search_paths};
      Note(fmt::format("no tests of this report yet: making them in {}", directory.string()));
      Result<Suite> suite = MakeSuite(generate);
      if (!suite) return suite.error();
      const Result<Verification> verification = Verify(&*suite, {}, true);
      if (!verification) return verification.error();
    }
  }
  if (!IsSuite(directory))
    return Error{Errc::kMissing, fmt::format("{}: needed a report or a folder of tests, found neither\n"
                                             "make tests: recrash reproduce --program PROGRAM -o {}",
                                             directory.string(), directory.string())};
  if (!fs::exists(directory / "build" / "crash_test", error)) {
    const Result<BuildOutcome> outcome = BuildTests(directory);
    if (!outcome) return outcome.error();
    if (!outcome->ok)
      return Error{Errc::kRefused, fmt::format("{}: the tests do not build\n{}", directory.string(), outcome->output)};
  }
  return directory;
}

Result<ReplayFrame> FindFrame(const Suite& suite, uint32_t index) {
  std::string others;
  for (const ReplayFrame& frame : suite.report.replay->frames) {
    if (frame.index == index) return frame;
    others += fmt::format("{}{}", others.empty() ? "" : ", ", frame.index);
  }
  return Error{Errc::kMissing, fmt::format("frame {} has no test in {}; {} have one\ngive --frame one of these", index,
                                           suite.directory.string(), others.empty() ? "none" : others)};
}

}  // namespace

int DebugCommand(const DebugArguments& arguments) {
  const Result<fs::path> directory = BuiltSuite(arguments);
  if (!directory) return Fail(directory.error());
  const Result<Suite> suite = ReadSuite(*directory, arguments.program);
  if (!suite) return Fail(suite.error());
  const Result<ReplayFrame> frame = FindFrame(*suite, arguments.frame);
  if (!frame) return Fail(frame.error());
  const Result<fs::path> script = SupportFile("recrash-gdb.py");
  if (!script) return Fail(script.error());
  if (FindInPath("gdb").empty())
    return Fail({Errc::kMissing,
                 "gdb is needed, not found in PATH\ninstall it, or run the test under another debugger: "
                 "build/crash_test --recrash-in-process --gtest_filter=..."});

  std::vector<std::string> words = {"gdb", "-q", "-x", script->string()};
  words.insert(words.end(), arguments.debugger_arguments.begin(), arguments.debugger_arguments.end());
  const std::string test = fs::absolute(*directory / "build" / "crash_test").lexically_normal();
  for (const std::string& word :
       {std::string("--args"), test, std::string("--program"), suite->program, std::string("--recrash-in-process"),
        fmt::format("--gtest_filter=*.Frame{}_*:*.Frame{}", arguments.frame, arguments.frame)})
    words.push_back(word);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::fflush(stdout);
  execvp(argv[0], argv.data());
  return Fail({Errc::kMissing, fmt::format("gdb cannot be started: {}", std::strerror(errno))});
}

}  // namespace recrash::cli
