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

constexpr std::string_view kTest = "TEST(CrashTest, ";

// The names of the tests that are red on the build that the folder was made for; nothing where that is not there.
Result<std::optional<std::set<std::string>>> RedBefore(const Suite& suite, const std::string& fixed, bool sandbox) {
  std::error_code error;
  if (!fs::exists(suite.program, error) || fs::equivalent(suite.program, fixed, error))
    return std::optional<std::set<std::string>>();
  const Result<std::vector<TestResult>> before = RunTests(suite.directory, suite.program, sandbox);
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
  if (!line.starts_with(kTest)) return nullptr;
  line.remove_prefix(kTest.size());
  if (line.starts_with(kDisabledPrefix)) line.remove_prefix(kDisabledPrefix.size());
  const auto found = std::ranges::find(tests, line.substr(0, line.find(')')), &AfterFix::name);
  return found == tests.end() ? nullptr : &*found;
}

}  // namespace

Result<std::vector<AfterFix>> CompareWithFix(const fs::path& directory, const std::string& fixed, bool sandbox) {
  const Result<Suite> suite = ReadSuite(directory, "", "");
  if (!suite) return suite.error();
  if (const Status built = BuildTests(directory); !built) return built.error();
  const auto before = RedBefore(*suite, fixed, sandbox);
  if (!before) return before.error();
  const Result<std::vector<TestResult>> after = RunTests(directory, fs::absolute(fixed).string(), sandbox);
  if (!after) return after.error();
  std::vector<AfterFix> tests;
  for (const TestResult& test : *after) {
    AfterFix& result = tests.emplace_back();
    result.name = test.name;
    if (test.end == TestEnd::kFailed) result.why_not = "stays red after the fix: " + WhyRed(test.why);
    if (test.end == TestEnd::kSkipped) result.why_not = "is not decided after the fix: " + test.why;
    if (test.end == TestEnd::kPassed && *before && !(*before)->contains(test.name))
      result.why_not = "is not red before the fix";
    result.turned_green = result.why_not.empty();
  }
  return tests;
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
      line = fmt::format("{}{}{}{}", kTest, test->turned_green ? "" : kDisabledPrefix, test->name, rest);
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
