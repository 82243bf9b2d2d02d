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

int main(int argc, char** argv) {
  const char* from_environment = getenv("RECRASH_PROGRAM");
  std::string program = from_environment && *from_environment ? from_environment : RECRASH_PROGRAM;
  std::vector<std::string> options = {RECRASH_CODE_OPTIONS};
  std::vector<std::string> rest;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--program" && i + 1 < argc) {
      program = argv[++i];
    } else if (argument.compare(0, 10, "--program=") == 0) {
      program = argument.substr(10);
    } else if (argument == "--search-path" && i + 1 < argc) {
      options.insert(options.end(), {argument, argv[++i]});
    } else if (argument == "--trust-report" || argument == "--no-sandbox") {
      options.push_back(argument);
    } else if (argument == "--recrash-in-process") {
      options.push_back("--in-process");
    } else if (argument == "--recrash-no-same-bases") {
      options.push_back("--no-same-bases");
    } else {
      rest.push_back(argument);
    }
  }
  const char* support = getenv("RECRASH_SUPPORT_DIR");
  const std::string launch = support && *support ? std::string(support) + "/recrash-launch" : RECRASH_LAUNCH;
  std::vector<std::string> words = {launch,           "--report",           RECRASH_REPORT, "--program", program,
                                    "--test-library", RECRASH_TEST_LIBRARY, "--argv0",      argv[0]};
  words.insert(words.end(), options.begin(), options.end());
  words.push_back("--");
  words.insert(words.end(), rest.begin(), rest.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(&word[0]);
  pointers.push_back(nullptr);
  execv(launch.c_str(), pointers.data());
  fprintf(stderr, "recrash: error: %s cannot be started: %s\n  install recrash again, or set RECRASH_SUPPORT_DIR\n",
          launch.c_str(), strerror(errno));
  return 4;
}
