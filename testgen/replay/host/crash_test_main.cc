// The crash_test executable: starts the program that crashed with the tests inside it. People, CTest and debuggers run
// it like any GoogleTest executable; recrash_add_crash_test compiles it with the paths below.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

// Where code may come from; a build file that says nothing of it adds nothing.
#ifndef RECRASH_CODE_OPTIONS
#define RECRASH_CODE_OPTIONS
#endif

// A build of the same sources without inlining, in which tests of CrashTestInTwin run.
#ifndef RECRASH_TWIN
#define RECRASH_TWIN ""
#define RECRASH_TWIN_TESTS 0
#endif

namespace {

constexpr char kFilter[] = "--gtest_filter=";
constexpr char kTwinTests[] = "CrashTestInTwin.*";

struct Invocation {
  std::string argv0;
  std::string program;
  std::string twin = RECRASH_TWIN;
  bool is_named = false;  // the program: all tests run in it
  std::vector<std::string> options = {RECRASH_CODE_OPTIONS};
  std::string filter;  // of GoogleTest; empty: none was given
  std::vector<std::string> rest;
};

Invocation Parse(int argc, char** argv) {
  Invocation invocation;
  invocation.argv0 = argv[0];
  const char* from_environment = getenv("RECRASH_PROGRAM");
  invocation.is_named = from_environment && *from_environment;
  invocation.program = invocation.is_named ? from_environment : RECRASH_PROGRAM;
  const char* filter = getenv("GTEST_FILTER");
  if (filter) invocation.filter = filter;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--program" && i + 1 < argc) {
      invocation.program = argv[++i];
      invocation.is_named = true;
    } else if (argument.compare(0, 10, "--program=") == 0) {
      invocation.program = argument.substr(10);
      invocation.is_named = true;
    } else if (argument == "--twin") {
      invocation.program = invocation.twin;
      invocation.is_named = true;
    } else if (argument == "--search-path" && i + 1 < argc) {
      invocation.options.insert(invocation.options.end(), {argument, argv[++i]});
    } else if (argument == "--trust-report" || argument == "--no-sandbox") {
      invocation.options.push_back(argument);
    } else if (argument == "--recrash-in-process") {
      invocation.options.push_back("--in-process");
    } else if (argument == "--recrash-no-same-bases") {
      invocation.options.push_back("--no-same-bases");
    } else if (argument.compare(0, sizeof kFilter - 1, kFilter) == 0) {
      invocation.filter = argument.substr(sizeof kFilter - 1);
    } else {
      invocation.rest.push_back(argument);
    }
  }
  return invocation;
}

int Start(const Invocation& invocation, const std::string& program, const std::string& filter) {
  const char* support = getenv("RECRASH_SUPPORT_DIR");
  const std::string launch = support && *support ? std::string(support) + "/recrash-launch" : RECRASH_LAUNCH;
  std::vector<std::string> words = {launch,           "--report",           RECRASH_REPORT, "--program",     program,
                                    "--test-library", RECRASH_TEST_LIBRARY, "--argv0",      invocation.argv0};
  words.insert(words.end(), invocation.options.begin(), invocation.options.end());
  words.push_back("--");
  if (!filter.empty()) words.push_back(kFilter + filter);
  words.insert(words.end(), invocation.rest.begin(), invocation.rest.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(&word[0]);
  pointers.push_back(nullptr);
  execv(launch.c_str(), pointers.data());
  fprintf(stderr, "recrash: error: %s cannot be started: %s\n  install recrash again, or set RECRASH_SUPPORT_DIR\n",
          launch.c_str(), strerror(errno));
  return 4;
}

// GoogleTest's filter, without these tests.
std::string Without(const std::string& filter, const std::string& tests) {
  const bool has_exclusions = filter.find('-') != std::string::npos;
  return (filter.empty() ? "*" : filter) + (has_exclusions ? ":" : "-") + tests;
}

// Do all patterns of the filter begin so?
bool AllBegin(const std::string& filter, const std::string& with) {
  const std::string wanted = filter.substr(0, filter.find('-'));
  if (wanted.empty()) return false;
  for (size_t at = 0; at < wanted.size();) {
    const size_t end = wanted.find(':', at) == std::string::npos ? wanted.size() : wanted.find(':', at);
    if (end > at && wanted.compare(at, with.size(), with) != 0) return false;
    at = end + 1;
  }
  return true;
}

// Returns the exit status of the tests in the program; those in the twin come after them.
int RunInChild(const Invocation& invocation, const std::string& filter) {
  fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) _exit(Start(invocation, invocation.program, filter));
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (child < 0) return 4;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Where both have tests, one start of the program and one of the twin.
int RunInBoth(const Invocation& invocation) {
  const int in_program = RunInChild(invocation, Without(invocation.filter, kTwinTests));
  Invocation in_twin = invocation;
  in_twin.program = invocation.twin;
  const std::string filter =
      invocation.filter.empty() ? std::string(kTwinTests) : Without(invocation.filter, "CrashTest.*");
  const int status = RunInChild(in_twin, filter);
  const auto& rest = invocation.rest;
  const bool ask_decided = std::find(rest.begin(), rest.end(), "--decided") != rest.end();
  if (ask_decided) return in_program == 0 ? 0 : status;
  return in_program != 0 ? in_program : status;
}

}  // namespace

int main(int argc, char** argv) {
  const Invocation invocation = Parse(argc, argv);
  const bool is_list =
      std::find(invocation.rest.begin(), invocation.rest.end(), "--gtest_list_tests") != invocation.rest.end();
  if (!RECRASH_TWIN_TESTS || invocation.twin.empty() || invocation.is_named || is_list ||
      AllBegin(invocation.filter, "CrashTest."))
    return Start(invocation, invocation.program, invocation.filter);
  if (AllBegin(invocation.filter, "CrashTestInTwin.")) return Start(invocation, invocation.twin, invocation.filter);
  return RunInBoth(invocation);
}
