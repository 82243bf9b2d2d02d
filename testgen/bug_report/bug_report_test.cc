#include "testgen/bug_report/bug_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>

#include "testgen/emit/testing_frames.h"

namespace recrash {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

Crash Greeter() {
  Crash crash;
  crash.name = "greeter-1";
  crash.report = testing_frames::GreeterReport();
  crash.report.process.arguments = {"greeter", "--password=hunter2"};
  Module program;
  program.path = "/usr/bin/greeter";
  program.build_id = "00112233445566778899aabbccddeeff00112233";
  program.base = {0x400000};
  program.size = 0x10000;
  program.is_program = true;
  crash.report.modules = {program};
  crash.backtrace = testing_frames::GreeterBacktrace();
  return crash;
}

TEST(BugReport, SaysWhatFailedWhereInWhatBuildAndHowToReproduceIt) {
  const BugReport bug = WriteBugReport(Greeter(), "greeter-1.zip");
  EXPECT_EQ(bug.title, "greeter 1.4.2-g3f2a: SIGSEGV in FormatName at greeter.cc:41");
  EXPECT_EQ(
      bug.text,
      "The program failed:\n"
      "\n"
      "    SIGSEGV in FormatName at greeter.cc:41\n"
      "    address   0x0\n"
      "\n"
      "    #0   Greeter::FormatName(char const*)  /src/greeter.cc:41\n"
      "    #1   Greeter::Greet(char const*)  /src/greeter.cc:57\n"
      "    #2   main  /src/greeter.cc:70\n"
      "\n"
      "    program   /usr/bin/greeter\n"
      "    version   1.4.2-g3f2a\n"
      "    build-id  00112233445566778899aabbccddeeff00112233\n"
      "    crashed   2026-11-18 11:06:40 UTC\n"
      "\n"
      "The file greeter-1.zip holds the report of recrash. These commands make tests of it that fail in the same way,\n"
      "with the program of that build-id, or a later build of it:\n"
      "\n"
      "    recrash reproduce greeter-1.zip --program PATH/greeter -o greeter-1-tests\n"
      "    greeter-1-tests/build/crash_test\n");
}

// Arguments, the command line and pointers are values of the program.
TEST(BugReport, HasNoValuesButThoseOfTheFailure) {
  Crash crash = Greeter();
  crash.backtrace.frames[0].parameters[0].rendered = "hunter2";
  crash.backtrace.frames[0].parameters[0].lines = {"hunter2"};
  crash.report.failure.address = {0x326572746e7568};  // of a pointer that a text has overwritten
  EXPECT_THAT(WriteBugReport(crash, "a.zip").text, AllOf(Not(HasSubstr("hunter2")), Not(HasSubstr("address"))));
  crash.report.failure.kind = FailureKind::kException;
  crash.report.failure.exception_what = "no such user: ada";
  EXPECT_THAT(WriteBugReport(crash, "a.zip").text, HasSubstr("no such user: ada"));
}

TEST(BugReport, OfAProgramWithoutSymbolsHasOffsets) {
  Crash crash = Greeter();
  for (Frame& frame : crash.backtrace.frames) frame.function = frame.file = "";
  crash.report.failure.pc = {0x401000};
  const BugReport bug = WriteBugReport(crash, "a.zip");
  EXPECT_THAT(bug.title, HasSubstr("SIGSEGV in greeter+0x1000"));
  EXPECT_THAT(bug.text, HasSubstr("    #1   greeter+0x1001\n"));
  crash.no_backtrace = Error{Errc::kMissing, "/home/ada/greeter: no such program\ngive another"};
  EXPECT_THAT(WriteBugReport(crash, "a.zip").text, HasSubstr("    frames are not known: ~/greeter: no such program\n"));
}

TEST(BugReport, OfADeepRecursionHasBothEnds) {
  Crash crash = Greeter();
  for (uint32_t i = 3; i < 500; ++i) crash.backtrace.frames.push_back(testing_frames::MakeFrame(i, "Walk", {}));
  crash.backtrace.skipped = 1000;
  const std::string text = WriteBugReport(crash, "a.zip").text;
  EXPECT_THAT(text, AllOf(HasSubstr("    #29 "), HasSubstr("    ... 1460 more frames\n    #490"), HasSubstr("#499")));
}

// The text is pasted, and its commands are run.
TEST(BugReport, OfAHostileReportIsHarmless) {
  for (const std::string& hostile : testing_frames::HostileTexts()) {
    Crash crash = Greeter();
    Process& process = crash.report.process;
    process.program = "/tmp/" + hostile + "; reboot";
    process.version = hostile;
    crash.report.modules[0].build_id = hostile;
    crash.report.failure.kind = FailureKind::kException;
    crash.report.failure.exception_what = hostile;
    crash.backtrace.frames[0].function = hostile;
    crash.backtrace.frames[0].file = hostile;
    const BugReport bug = WriteBugReport(crash, hostile + ".zip");
    EXPECT_LE(bug.title.size(), 123u);
    EXPECT_THAT(bug.title + bug.text,
                AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\r")), Not(HasSubstr("\xe2\x80\xae"))));
    EXPECT_THAT(bug.title, Not(HasSubstr("\n")));
    size_t plain = 0;
    for (size_t at = 0; at < bug.text.size(); at = bug.text.find('\n', at) + 1) {
      const std::string line = bug.text.substr(at, bug.text.find('\n', at) - at);
      EXPECT_LE(line.size(), 700u);
      if (!line.empty() && !line.starts_with("    ")) ++plain;
      if (line.starts_with("    recrash ")) EXPECT_EQ(line.find_first_of("$`;&|<>()\\'\"#*?"), line.npos) << line;
    }
    EXPECT_EQ(plain, 3u) << "lines of ours";
  }
}

// Each home that is replaced moves the rest of the text.
TEST(BugReport, OfALongFailureIsQuick) {
  Crash crash = Greeter();
  crash.report.failure.kind = FailureKind::kException;
  for (int i = 0; i < 300'000; ++i) crash.report.failure.exception_what += "/home/a ";
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THAT(WriteBugReport(crash, "a.zip").text, HasSubstr("(~ ~ ~ "));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

TEST(WithoutHomes, HasATildeInTheirPlace) {
  const std::vector<std::string> homes = {"/root", "/srv/users/ada/", "", "/"};
  const auto of = [&](const char* text) { return WithoutHomes(text, homes); };
  EXPECT_EQ(of("cannot open /home/bob/x and '/home/eve'"), "cannot open ~/x and '~'");
  EXPECT_EQ(of("/srv/users/ada/x:/srv/users/adam/x"), "~/x:/srv/users/adam/x");
  EXPECT_EQ(of("/root/x /rootfs/x /a/root/x"), "~/x /rootfs/x /a/root/x");
  EXPECT_EQ(of("/var/home/zoë/x"), "/var~/x");
  EXPECT_EQ(of("/home/ and / stay"), "/home/ and / stay");
}

TEST(HarmlessName, IsOne) {
  EXPECT_EQ(HarmlessName("app-1.2_x"), "app-1.2_x");
  EXPECT_EQ(HarmlessName("../a b;$(reboot)\n"), "_.._a_b___reboot__");
  EXPECT_EQ(HarmlessName("-rf"), "_-rf");
  EXPECT_EQ(HarmlessName(""), "_");
  EXPECT_EQ(HarmlessName(std::string(5000, 'x')).size(), 200u);
}

}  // namespace
}  // namespace recrash
