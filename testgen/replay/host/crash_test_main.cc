// The crash_test executable: starts the program that crashed with the tests inside it. People, CTest and debuggers run
// it like any GoogleTest executable; recrash_add_crash_test compiles it with the paths below.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <string>
#include <vector>

// Where code may come from; a build file that says nothing of it adds nothing.
#ifndef RECRASH_CODE_OPTIONS
#define RECRASH_CODE_OPTIONS
#endif

// A build of the same sources without inlining: tests of functions that the program does not have run there.
#ifndef RECRASH_TWIN
#define RECRASH_TWIN ""
#endif

namespace {

struct Invocation {
  std::string argv0;
  std::string program;
  std::string twin = RECRASH_TWIN;  // of the program; empty: there is none
  std::vector<std::string> options = {RECRASH_CODE_OPTIONS};
  std::vector<std::string> rest;
};

Invocation Parse(int argc, char** argv) {
  Invocation invocation;
  invocation.argv0 = argv[0];
  const char* from_environment = getenv("RECRASH_PROGRAM");
  invocation.program = RECRASH_PROGRAM;
  std::string named = from_environment ? from_environment : "";
  std::string named_twin;
  bool all_in_twin = false;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--program" && i + 1 < argc) {
      named = argv[++i];
    } else if (argument.compare(0, 10, "--program=") == 0) {
      named = argument.substr(10);
    } else if (argument.compare(0, 7, "--twin=") == 0) {
      named_twin = argument.substr(7);
    } else if (argument == "--twin") {
      all_in_twin = true;
    } else if (argument == "--search-path" && i + 1 < argc) {
      invocation.options.insert(invocation.options.end(), {argument, argv[++i]});
    } else if (argument == "--trust-report" || argument == "--no-sandbox") {
      invocation.options.push_back(argument);
    } else if (argument == "--recrash-in-process") {
      invocation.options.push_back("--in-process");
    } else if (argument == "--recrash-no-same-bases") {
      invocation.options.push_back("--no-same-bases");
    } else {
      invocation.rest.push_back(argument);
    }
  }
  // The twin that the tests were built with is not one of another program.
  if (!named.empty()) invocation.twin.clear();
  if (!named.empty()) invocation.program = named;
  if (!named_twin.empty()) invocation.twin = named_twin;
  if (all_in_twin) invocation.program = invocation.twin.empty() ? RECRASH_TWIN : invocation.twin;
  if (all_in_twin) invocation.twin.clear();
  return invocation;
}

int Start(const Invocation& invocation) {
  const char* support = getenv("RECRASH_SUPPORT_DIR");
  const std::string launch = support && *support ? std::string(support) + "/recrash-launch" : RECRASH_LAUNCH;
  std::vector<std::string> words = {
      launch,           "--report",           RECRASH_REPORT, "--program",     invocation.program,
      "--test-library", RECRASH_TEST_LIBRARY, "--argv0",      invocation.argv0};
  words.insert(words.end(), invocation.options.begin(), invocation.options.end());
  if (!invocation.twin.empty()) words.insert(words.end(), {"--twin", invocation.twin});
  words.push_back("--");
  words.insert(words.end(), invocation.rest.begin(), invocation.rest.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(&word[0]);
  pointers.push_back(nullptr);
  execv(launch.c_str(), pointers.data());
  fprintf(stderr, "recrash: error: %s cannot be started: %s\n  install recrash again, or set RECRASH_SUPPORT_DIR\n",
          launch.c_str(), strerror(errno));
  return 4;
}

}  // namespace

int main(int argc, char** argv) { return Start(Parse(argc, argv)); }
