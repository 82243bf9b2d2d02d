#include "testgen/suite/build.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>

#include "agent/base/installation.h"
#include "agent/process/subprocess.h"
#include "testgen/emit/emit.h"
#include "testgen/suite/folder.h"

namespace recrash {
namespace fs = std::filesystem;
namespace {

// The last lines say what went wrong; the whole would be pages of compiler invocations.
std::string Tail(const std::string& text, size_t lines) {
  size_t at = text.size();
  while (at > 0 && lines > 0) {
    --at;
    if (at > 0 && text[at - 1] == '\n') --lines;
  }
  return text.substr(at);
}

// CMake refuses a cache that was made in another folder: this one was copied or moved here, with its build.
void RemoveForeignCache(const fs::path& directory, const fs::path& build) {
  constexpr std::string_view kHome = "CMAKE_HOME_DIRECTORY:INTERNAL=";
  std::ifstream cache(build / "CMakeCache.txt");
  std::error_code error;
  for (std::string line; std::getline(cache, line);) {
    if (!line.starts_with(kHome) || fs::equivalent(line.substr(kHome.size()), directory, error)) continue;
    fs::remove(build / "CMakeCache.txt", error);
    fs::remove_all(build / "CMakeFiles", error);
    return;
  }
}

// Measured with CMake 3.25: with Ninja all other characters can be built, # and ]] and spaces among them; Make stumbles
// over three more. "" stands for a line end and the like.
std::string NotForCMake(const std::string& path, bool ninja) {
  for (const char* text : {"|", ";", "\"", "\\", "$(", "$<"})
    if (path.find(text) != path.npos) return text;
  for (const char* text : {"#", "]]", ":"})
    if (!ninja && path.find(text) != path.npos) return text;
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  return std::ranges::any_of(path, is_control) ? "a line end or another control character" : "";
}

}  // namespace

Status CheckBuildFolder(const fs::path& directory) {
  const std::string path = fs::absolute(directory).lexically_normal();
  const bool ninja = !FindInPath("ninja").empty();
  const std::string found = NotForCMake(path, ninja);
  if (found.empty()) return Ok{};
  const std::string install = NotForCMake(path, true).empty() ? ", install ninja" : "";
  return Error{Errc::kRefused, fmt::format("{}: needed a path that CMake can build in, found {} in it\n"
                                           "give another folder with -o{}, or --no-build to have the tests as source",
                                           path, found, install)};
}

Status BuildTests(const fs::path& directory) {
  if (const Status status = CheckBuildFolder(directory); !status) return status;
  const fs::path build = directory / "build";
  if (FindInPath("cmake").empty())
    return Error{Errc::kMissing,
                 "cmake is needed to build the tests, not found in PATH\n"
                 "install it, or give --no-build to have the tests as source"};
  std::vector<std::string> configure = {
      "cmake", "-S",           directory.string(),
      "-B",    build.string(), fmt::format("-Drecrash_DIR={}", (Prefix() / "lib/cmake/recrash").string())};
  for (std::string& place : PlacesHere(directory)) configure.push_back(std::move(place));
  RemoveForeignCache(directory, build);
  std::error_code error;
  if (!fs::exists(build / "CMakeCache.txt", error) && !FindInPath("ninja").empty()) {
    configure.emplace_back("-G");
    configure.emplace_back("Ninja");
  }
  ProcessOptions quiet;
  quiet.capture = true;
  // They are meant for the program: -m32 or -static in them, and the tests do not build.
  quiet.without = {"CXXFLAGS", "LDFLAGS"};
  for (const std::vector<std::string>& step : {configure, {"cmake", "--build", build.string()}}) {
    const Result<ProcessResult> result = RunProcess(step, quiet);
    if (!result) return result.error();
    if (!result->ok())
      return Error{Errc::kRefused, fmt::format("{}: needed the tests to build, found\n{}\n"
                                               "--no-build leaves them as source",
                                               directory.string(), Tail(result->output, 40))};
  }
  return Ok{};
}

namespace {

constexpr char kAll[] = "--gtest_also_run_disabled_tests";

// What the tests say for themselves, as GoogleTest's JSON.
Result<nlohmann::json> RunExecutable(const fs::path& directory, const std::string& program, bool sandbox,
                                     const std::vector<std::string>& options) {
  const fs::path executable = fs::absolute(directory / "build" / "crash_test");
  const fs::path results = fs::absolute(directory / "build" / "results.json");
  std::error_code error;
  fs::remove(results, error);
  ProcessOptions quiet;
  quiet.capture = true;
  std::vector<std::string> words = {executable.string(), "--program", program,
                                    "--gtest_output=json:" + results.string()};
  words.insert(words.end(), options.begin(), options.end());
  if (!sandbox) words.emplace_back("--no-sandbox");
  const Result<ProcessResult> run = RunProcess(words, quiet);
  if (!run) return run.error();
  std::ifstream file(results);
  nlohmann::json json = nlohmann::json::parse(file, nullptr, false);
  fs::remove(results, error);
  if (json.is_object()) return json;
  return Error{Errc::kRefused, fmt::format("{}: needed the results of the built tests, found none (exit status {})\n{}",
                                           executable.string(), run->exit_code(), Tail(run->output, 20))};
}

template <typename Visit>
void ForEachTest(const nlohmann::json& results, Visit visit) {
  for (const nlohmann::json& suite : results.value("testsuites", nlohmann::json::array()))
    for (nlohmann::json test : suite.value("testsuite", nlohmann::json::array())) {
      test["suite"] = suite.value("name", "");
      visit(test);
    }
}

std::string NameOf(const nlohmann::json& test) {
  const std::string name = test.value("name", "");
  return name.starts_with(kDisabledPrefix) ? name.substr(kDisabledPrefix.size()) : name;
}

// GoogleTest puts the place of the test in front.
std::string FirstLine(const std::string& message) {
  const size_t start = message.find('\n') + 1;
  return message.substr(start, message.find('\n', start) - start);
}

}  // namespace

Result<std::vector<TestResult>> RunTests(const fs::path& directory, const std::string& program, bool sandbox) {
  const Result<nlohmann::json> json = RunExecutable(directory, program, sandbox, {kAll});
  if (!json) return json.error();
  std::vector<TestResult> results;
  ForEachTest(*json, [&](const nlohmann::json& test) {
    TestResult& result = results.emplace_back();
    result.suite = test.value("suite", "");
    result.name = NameOf(test);
    const nlohmann::json failures = test.value("failures", nlohmann::json::array());
    if (!failures.empty()) {
      result.end = TestEnd::kFailed;
      result.why = FirstLine(failures.front().value("failure", ""));
    } else if (test.value("result", "") == "COMPLETED") {
      result.end = TestEnd::kPassed;
    } else {
      result.why = test.value("skipped_because", "");
    }
  });
  return results;
}

Result<std::set<std::string>> RunBuiltTests(const fs::path& directory, const std::string& program, bool sandbox) {
  const Result<nlohmann::json> json = RunExecutable(directory, program, sandbox, {"--expect=fail", kAll});
  if (!json) return json.error();
  std::set<std::string> red;
  ForEachTest(*json, [&](const nlohmann::json& test) {
    if (!test.contains("failures")) red.insert(NameOf(test));
  });
  return red;
}

}  // namespace recrash
