#include "testgen/emit/launch_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace recrash {
namespace {

// gdb's script stops in the function itself; it is put there by recrash_add_crash_test. GoogleTest finds the test also
// once it is disabled.
std::string Configuration(const std::string& name, const std::string& suite, const std::string& test, bool in_twin) {
  return fmt::format(R"(    {{
      "name": "{}",
      "type": "cppdbg",
      "request": "launch",
      "program": "${{workspaceFolder}}/build/crash_test",
      "args": [{}"--recrash-in-process", "--gtest_also_run_disabled_tests",
               "--gtest_filter={}.{}:{}.DISABLED_{}"],
      "cwd": "${{workspaceFolder}}",
      "MIMode": "gdb",
      "setupCommands": [{{ "text": "source ${{workspaceFolder}}/build/recrash/recrash-gdb.py" }}]
    }})",
                     name, in_twin ? "\"--twin\", " : "", suite, test, suite, test);
}

}  // namespace

std::string EmitLaunchFile(const TestReport& report, const Backtrace& backtrace, const std::vector<EmittedTest>& tests,
                           bool has_twin) {
  std::vector<std::string> configurations;
  for (const EmittedTest& test : tests) {
    const auto frame = std::ranges::find(backtrace.frames, test.frame, &Frame::index);
    const auto replayed = std::ranges::find(report.replay.frames, test.frame, &ReplayFrame::index);
    if (frame == backtrace.frames.end()) continue;
    const std::string name = TestName(*frame);
    const bool needs_twin = replayed != report.replay.frames.end() && replayed->needs_twin();
    if (!needs_twin) configurations.push_back(Configuration(name, "CrashTest", name, false));
    if (needs_twin || has_twin) configurations.push_back(Configuration(name + ", in the twin", "*", name, true));
  }
  return fmt::format("{{\n  \"version\": \"0.2.0\",\n  \"configurations\": [\n{}\n  ]\n}}\n",
                     fmt::join(configurations, ",\n"));
}

}  // namespace recrash
