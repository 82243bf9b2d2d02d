#include "testgen/suite/fixed.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "testgen/emit/emit.h"
#include "testgen/emit/text.h"
#include "testgen/suite/folder.h"

namespace recrash {
namespace fs = std::filesystem;
namespace {

// The names of the tests that are red on `build`, which the folder was made for; nothing where that is not there.
Result<std::optional<std::set<std::string>>> RedBefore(const fs::path& directory, const std::string& build,
                                                       const std::string& fixed, bool sandbox) {
  std::error_code error;
  if (!fs::exists(build, error) || fs::equivalent(build, fixed, error)) return std::optional<std::set<std::string>>();
  const Result<std::vector<TestResult>> before = RunTests(directory, build, sandbox);
  if (!before) return before.error();
  std::set<std::string> red;
  for (const TestResult& test : *before)
    if (test.end == TestEnd::kFailed) red.insert(test.name);
  return std::optional(red);
}

// What a failed test said, without the frame that its name has.
std::string WhyRed(const std::string& message) {
  if (message.find(": happens again when ") != message.npos) return "the recorded failure happens again";
  return message.substr(0, message.find(": fails otherwise now when "));
}

// The test that begins in this line; null: none.
const AfterFix* TestOf(std::string_view line, const std::vector<AfterFix>& tests) {
  for (const AfterFix& test : tests) {
    const std::string enabled = fmt::format("TEST({}, {})", test.suite, test.name);
    const std::string disabled = fmt::format("TEST({}, {}{})", test.suite, kDisabledPrefix, test.name);
    if (line.starts_with(enabled) || line.starts_with(disabled)) return &test;
  }
  return nullptr;
}

// Adds what became of the tests of one suite. `before`: the build for which they were made.
Status Compare(const fs::path& directory, std::string_view suite, const std::string& before, const std::string& fixed,
               bool sandbox, std::vector<AfterFix>* tests) {
  const auto red = RedBefore(directory, before, fixed, sandbox);
  if (!red) return red.error();
  const Result<std::vector<TestResult>> after = RunTests(directory, fs::absolute(fixed).string(), sandbox);
  if (!after) return after.error();
  for (const TestResult& test : *after) {
    if (test.suite != suite) continue;
    AfterFix& result = tests->emplace_back();
    result.suite = test.suite;
    result.name = test.name;
    if (test.end == TestEnd::kFailed) result.why_not = "stays red after the fix: " + WhyRed(test.why);
    if (test.end == TestEnd::kSkipped) result.why_not = "is not decided after the fix: " + test.why;
    if (test.end == TestEnd::kPassed && *red && !(*red)->contains(test.name))
      result.why_not = "is not red before the fix";
    result.turned_green = result.why_not.empty();
  }
  return Ok{};
}

}  // namespace

Result<Comparison> CompareWithFix(const fs::path& directory, const FixedBuild& fixed, bool sandbox) {
  const Result<Suite> suite = ReadSuite(directory, "", "");
  if (!suite) return suite.error();
  if (const Status built = BuildTests(directory); !built) return built.error();
  Comparison compared;
  Status status = Compare(directory, kTestSuite, suite->program, fixed.program, sandbox, &compared.tests);
  const auto& frames = suite->report.replay.frames;
  const auto in_twin = static_cast<size_t>(std::ranges::count_if(frames, &ReplayFrame::needs_twin));
  if (status && in_twin != 0 && !fixed.twin.empty())
    status = Compare(directory, kTwinSuite, suite->twin, fixed.twin, sandbox, &compared.tests);
  if (!status) return status.error();
  compared.left_alone = fixed.twin.empty() ? in_twin : 0;
  return compared;
}

std::string WithDisabled(const std::string& source, const std::vector<AfterFix>& tests) {
  std::string out;
  bool is_reason = false;
  for (size_t at = 0; at < source.size();) {
    const size_t end = std::min(source.find('\n', at), source.size() - 1) + 1;
    std::string line = source.substr(at, end - at);
    at = end;
    // The reason is the last sentence above a test. A formatter may have made several lines of it.
    is_reason = line.starts_with(kDisabledReason) || (is_reason && line.starts_with("//"));
    if (is_reason) continue;
    if (const AfterFix* test = TestOf(line, tests)) {
      const std::string rest = line.substr(line.find(')'));
      if (!test->turned_green) out += fmt::format("{}{}\n", kDisabledReason, CommentText(test->why_not, 300));
      line = fmt::format("TEST({}, {}{}{}", test->suite, test->turned_green ? "" : kDisabledPrefix, test->name, rest);
    }
    out += line;
  }
  return out;
}

Result<size_t> KeepWhatDiscriminates(const fs::path& directory, const std::vector<AfterFix>& tests) {
  const Status written = EditSource(directory, [&](const std::string& source) { return WithDisabled(source, tests); });
  if (!written) return written.error();
  if (const Status built = BuildTests(directory); !built) return built.error();
  return static_cast<size_t>(std::ranges::count(tests, true, &AfterFix::turned_green));
}

}  // namespace recrash
