#include "testgen/replay/guest/test/testing_test_library.h"

#include <gtest/gtest.h>
#include <stdio.h>
#include <sys/wait.h>

#include "agent/report/writer.h"

namespace recrash {
namespace {

std::string Definition(const std::string& name, const std::string& path) {
  return " '-D" + name + "=\"" + path + "\"'";
}

}  // namespace

std::string BuildTestLibrary(const ReplayedProgram& program, const std::string& tests) {
  const Fixture& fixture = program.fixture();
  const std::string library = fixture.path("libtests.so");
  const std::string report = fixture.path("report.rcr");
  std::string launcher = fixture.path("crash_test");
  EXPECT_TRUE(WriteReport(program.report(), report));
  fixture.Write("tests.cc", tests);
  fixture.Run(RECRASH_TEST_CXX
              " -std=c++17 -g -fPIC -shared -fvisibility=hidden -Wall -Wextra -Werror -I" RECRASH_TEST_SOURCE_DIRECTORY
              "/include tests.cc -o libtests.so " RECRASH_TEST_SUPPORT_DIRECTORY
              "/librecrash_gtest.a -Wl,-Bsymbolic -Wl,--exclude-libs,ALL");
  fixture.Run(RECRASH_TEST_CXX " -std=c++17 -g " RECRASH_TEST_SOURCE_DIRECTORY
                               "/testgen/replay/host/crash_test_main.cc -o " +
              launcher + Definition("RECRASH_LAUNCH", RECRASH_TEST_SUPPORT_DIRECTORY "/recrash-launch") +
              Definition("RECRASH_TEST_LIBRARY", library) + Definition("RECRASH_REPORT", report) +
              Definition("RECRASH_PROGRAM", fixture.path()));
  return launcher;
}

Ran RunCommand(const std::string& command) {
  Ran ran;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  char buffer[4096];
  while (const size_t size = fread(buffer, 1, sizeof buffer, pipe)) ran.output.append(buffer, size);
  const int status = pclose(pipe);
  // CTest takes a test whose output has this for a skipped one, also if it failed.
  for (size_t at; (at = ran.output.find("[  SKIPPED ]")) != ran.output.npos;)
    ran.output.replace(at, 12, "[  skipped ]");
  ran.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ran;
}

}  // namespace recrash
