// recrash debug: a debugger at the first line of a frame's function, in the test process.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "agent/base/installation.h"
#include "agent/base/text.h"
#include "agent/process/subprocess.h"
#include "integrations/cli/commands.h"
#include "integrations/cli/store.h"
#include "integrations/cli/terminal.h"
#include "integrations/cli/tests.h"
#include "testgen/suite/build.h"
#include "testgen/suite/load.h"

namespace recrash::cli {
namespace fs = std::filesystem;
namespace {

// The folder of tests that the user named, or whose report; made now when there is none yet.
Result<fs::path> FindSuite(const ReportArguments& target, const Request& request) {
  std::error_code error;
  if (fs::is_directory(target.report, error)) return fs::path(target.report);
  const Result<fs::path> report = FindReport(target.report, target.program);
  if (!report) return report.error();
  // Tests are made from a report of their own, which lies beside them.
  if (report->filename() == "crash_test.rcr") return report->has_parent_path() ? report->parent_path() : fs::path(".");
  const fs::path directory = ReportName(*report) + "-tests";
  if (IsSuite(directory)) return directory;
  Note(fmt::format("this report has no tests yet: making them in {}", directory.string()));
  const Result<Outcome> outcome = MakeTestsOf({report->string(), target.program, target.search_paths}, request);
  if (!outcome) return outcome.error();
  return directory;
}

Result<fs::path> FindBuiltSuite(const ReportArguments& target, const Request& request) {
  const Result<fs::path> directory = FindSuite(target, request);
  if (!directory) return directory;
  if (!IsSuite(*directory))
    return Error{Errc::kMissing, fmt::format("{0}: needed a report or a folder of tests, found neither\n"
                                             "make tests: recrash reproduce --program PROGRAM -o {0}",
                                             directory->string())};
  std::error_code error;
  if (fs::exists(*directory / "build" / "crash_test", error)) return directory;
  if (const Status built = BuildTests(*directory); !built) return built.error();
  return directory;
}

Result<ReplayFrame> FindFrame(const Suite& suite, uint32_t index) {
  std::vector<uint32_t> others;
  for (const ReplayFrame& frame : suite.report.replay.frames) {
    if (frame.index == index) return frame;
    others.push_back(frame.index);
  }
  return Error{
      Errc::kMissing,
      fmt::format("frame {} has no test in {}; frames with a test: {}\ngive --frame one of these", index,
                  suite.directory.string(), others.empty() ? "none" : fmt::format("{}", fmt::join(others, ", ")))};
}

// Debian has lldb by its version alone.
std::string FindDebugger(const std::string& name) {
  for (const char* version : {"", "-19", "-22"})
    if (const std::string path = FindInPath(name + version); !path.empty()) return path;
  return "";
}

// The debugger with our script and the user's arguments, up to where the test's command line stands.
Result<std::vector<std::string>> DebuggerWords(const DebugArguments& arguments) {
  const bool is_gdb = arguments.debugger == "gdb";
  const std::string path = FindDebugger(arguments.debugger);
  if (path.empty())
    return Error{Errc::kMissing, fmt::format("{} is needed, not found in PATH\n"
                                             "install it, or run the test under another debugger: "
                                             "build/crash_test --recrash-in-process --gtest_filter=...",
                                             arguments.debugger)};
  const Result<fs::path> script = InstalledFile(is_gdb ? "recrash-gdb.py" : "recrash_lldb.py");
  if (!script) return script.error();
  std::vector<std::string> words = {path, "-q", "-x", script->string(), "-ex", "recrash"};
  if (!is_gdb) words = {path, "-o", fmt::format("command script import '{}'", script->string()), "-o", "recrash"};
  words.insert(words.end(), arguments.debugger_arguments.begin(), arguments.debugger_arguments.end());
  words.emplace_back(is_gdb ? "--args" : "--");
  return words;
}

}  // namespace

int DebugCommand(const DebugArguments& arguments) {
  const Result<fs::path> directory = FindBuiltSuite(arguments.target, arguments.request);
  if (!directory) return Fail(directory.error());
  const std::string& twin = arguments.request.twin;
  const Result<Suite> suite = ReadSuite(*directory, arguments.target.program, twin);
  if (!suite) return Fail(suite.error());
  const Result<ReplayFrame> frame = FindFrame(*suite, arguments.frame);
  if (!frame) return Fail(frame.error());
  // There every local is to be seen.
  const std::string& program = twin.empty() && !frame->needs_twin() ? suite->program : suite->twin;
  const Result<std::vector<std::string>> debugger = DebuggerWords(arguments);
  if (!debugger) return Fail(debugger.error());
  std::vector<std::string> words = *debugger;
  const std::string test = fs::absolute(*directory / "build" / "crash_test").lexically_normal();
  const uint32_t index = arguments.frame;
  for (const std::string& word :
       {test, std::string("--program"), program, std::string("--recrash-in-process"),
        std::string("--gtest_also_run_disabled_tests"),
        fmt::format("--gtest_filter=*.Frame{0}_*:*.Frame{0}:*.DISABLED_Frame{0}_*:*.DISABLED_Frame{0}", index)})
    words.push_back(word);
  for (const std::string& folder : arguments.target.search_paths) words.insert(words.end(), {"--search-path", folder});
  if (!arguments.request.sandbox) words.emplace_back("--no-sandbox");
  std::fflush(stdout);
  execvp(words[0].c_str(), ArgumentPointers(words).data());
  return Fail({Errc::kMissing, fmt::format("{} cannot be started: {}", words[0], std::strerror(errno))});
}

}  // namespace recrash::cli
