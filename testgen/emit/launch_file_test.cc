#include "testgen/emit/launch_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testgen/emit/testing_frames.h"

namespace recrash {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(LaunchFile, HasAConfigurationForEachTest) {
  TestReport report = testing_frames::GreeterReport();
  const std::string text = EmitLaunchFile(report, testing_frames::GreeterBacktrace(), {{1}}, false);
  EXPECT_EQ(text, R"({
  "version": "0.2.0",
  "configurations": [
    {
      "name": "Frame1_Greeter_Greet",
      "type": "cppdbg",
      "request": "launch",
      "program": "${workspaceFolder}/build/crash_test",
      "args": ["--recrash-in-process", "--gtest_also_run_disabled_tests",
               "--gtest_filter=CrashTest.Frame1_Greeter_Greet:CrashTest.DISABLED_Frame1_Greeter_Greet"],
      "cwd": "${workspaceFolder}",
      "MIMode": "gdb",
      "setupCommands": [{ "text": "source ${workspaceFolder}/build/recrash/recrash-gdb.py" }]
    }
  ]
}
)");
  const std::string both = EmitLaunchFile(report, testing_frames::GreeterBacktrace(), {{0}, {1}}, true);
  EXPECT_THAT(both, HasSubstr("\"name\": \"Frame0_Greeter_FormatName\""));
  EXPECT_THAT(both, HasSubstr("\"name\": \"Frame0_Greeter_FormatName, in the twin\""));
  EXPECT_THAT(both, HasSubstr("\"args\": [\"--twin\", \"--recrash-in-process\""));
  EXPECT_THAT(text, Not(HasSubstr("twin")));
}

}  // namespace
}  // namespace recrash
