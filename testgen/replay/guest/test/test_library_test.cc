// Generated tests as their reader runs them: a library of TESTs inside the program, started by its launcher.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recrash/replay.h"
#include "testgen/replay/guest/test/testing_test_library.h"
#include "testgen/verify/testing_replayed_program.h"

namespace recrash {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kProgram[] = R"(
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
struct Greeter {
  std::string greeting;
  int count = 0;
  __attribute__((noinline)) int Length(const char* name, short step, double factor);
};
int Greeter::Length(const char* name, short step, double factor) {
  if (count == 77) std::exit(5);
  if (count == 78) std::abort();
  std::string copy = greeting + std::string(100, 'x');
  return copy.size() + name[0] + count + step + (factor > 1 ? std::atoi(name) : 0);
}
__attribute__((noinline)) int Read(std::istream& in, Greeter* greeter, int argc) {
  std::string word;
  int words = 0;
  while (in >> word) ++words;
  return words == 3 ? greeter->Length(argc > 5 ? word.c_str() : nullptr, argc - 7, argc * 0.5) + 1 : words;
}
int main(int argc, char**) {
  Greeter greeter{"hello, this is a long greeting"};
  std::istringstream in("one two three");
  std::printf("%d\n", Read(in, &greeter, argc));
}
)";

constexpr char kTests[] = R"(
#include <recrash/test.h>
struct Greeter { char greeting[32]; int count; };
TEST(Crash, Recorded) {
  recrash::Frame frame(0);
  auto self = frame.Load<Greeter*>(1);
  EXPECT_EQ(self->count, 0);
  EXPECT_EQ(frame.Load<short>(3), -6);
  EXPECT_EQ(frame.Load<double>(4), 0.5);
  RECRASH_EXPECT_FIXED(frame.Call(self, nullptr, -6, recrash::AsRecorded));
}
TEST(Crash, OtherName) {
  recrash::Frame frame(0);
  RECRASH_EXPECT_FIXED(frame.Call(recrash::AsRecorded, "abc"));
}
TEST(Crash, Exits) {
  recrash::Frame frame(0);
  frame.Load<Greeter*>(1)->count = 77;
  RECRASH_EXPECT_FIXED(frame.Call());
  frame.Load<Greeter*>(1)->count = 0;
}
TEST(Crash, Aborts) {
  recrash::Frame frame(0);
  frame.Load<Greeter*>(1)->count = 78;
  RECRASH_EXPECT_FIXED(frame.Call());
  frame.Load<Greeter*>(1)->count = 0;
}
TEST(Crash, Missing) {
  recrash::Frame frame(40);
  RECRASH_EXPECT_FIXED(frame.Call());
}
TEST(Stream, Rewound) {
  recrash::Frame frame(1);
  RECRASH_EXPECT_FIXED(frame.Rewind(1).Call());
}
TEST(Stream, Damaged) {
  recrash::Frame frame(1);
  frame.Rewind(1);
  RECRASH_EXPECT_FIXED(frame.Call(recrash::Address(16)));
}
TEST(Stream, None) {
  recrash::Frame frame(1);
  frame.Rewind(2);
  RECRASH_EXPECT_FIXED(frame.Call());
}
TEST(Stream, AtItsEnd) {
  recrash::Frame frame(1);
  RECRASH_EXPECT_FIXED(frame.Call());
}
)";

class TestLibrary : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    program_ = new ReplayedProgram(kProgram);
    BuildTestLibrary(*program_, kTests);
  }
  static void TearDownTestSuite() {
    delete program_;
    program_ = nullptr;
  }

  static std::string Path(const std::string& name) { return program_->fixture().path(name); }
  static Ran Run(const std::string& arguments) { return RunCommand(Path("crash_test") + " " + arguments); }

  static ReplayedProgram* program_;
};
ReplayedProgram* TestLibrary::program_ = nullptr;

TEST_F(TestLibrary, FailsWhereTheRecordedFailureHappensAgain) {
  const Ran ran = Run("--gtest_filter=Crash.Recorded");
  EXPECT_EQ(ran.status, 1) << ran.output;
  EXPECT_THAT(ran.output, HasSubstr("SIGSEGV in Greeter::Length at program.cc:"));
  EXPECT_THAT(ran.output, HasSubstr("happens again when frame 0"));
  EXPECT_THAT(ran.output, HasSubstr("recrash debug " + Path("report.rcr") + " --frame 0"));
}

TEST_F(TestLibrary, PassesWithAnotherArgument) {
  const Ran ran = Run("--gtest_filter=Crash.OtherName");
  EXPECT_EQ(ran.status, 0) << ran.output;
}

TEST_F(TestLibrary, NotesAnExit) {
  const Ran ran = Run("--gtest_filter=Crash.Exits --gtest_output=xml:" + Path("exits.xml"));
  EXPECT_EQ(ran.status, 0) << ran.output;
  EXPECT_THAT(ran.output, HasSubstr("note: frame 0 (Greeter::Length(char const*, short, double)): exit(5)"));
  EXPECT_THAT(RunCommand("cat " + Path("exits.xml")).output, HasSubstr("name=\"note\" value=\"exit(5)\""));
}

// Whoever made the crash into another one has not mended it.
TEST_F(TestLibrary, FailsWhereAnotherFailureHappens) {
  const Ran ran = Run("--gtest_filter=Crash.Aborts");
  EXPECT_EQ(ran.status, 1) << ran.output;
  EXPECT_THAT(ran.output, HasSubstr("SIGABRT in Greeter::Length at program.cc:"));
  EXPECT_THAT(ran.output, HasSubstr("fails otherwise now when frame 0"));
  EXPECT_THAT(ran.output, HasSubstr("recorded: SIGSEGV in Greeter::Length"));
}

// A run that decided nothing is no success, unless that was asked for.
TEST_F(TestLibrary, AsksWhetherAnythingWasDecided) {
  const std::string skipped = "--gtest_filter=Crash.Missing";
  EXPECT_EQ(Run(skipped).status, 1);
  EXPECT_EQ(Run(skipped + " --decided").status, 1);
  EXPECT_EQ(Run(skipped + " --allow-undecided").status, 0);
  EXPECT_THAT(Run(skipped).output, HasSubstr("no test was decided: 1 of 1 were skipped"));
  EXPECT_EQ(Run("--gtest_filter=Crash.Recorded --decided").status, 0);
  EXPECT_EQ(Run("--gtest_filter=Crash.Missing:Crash.OtherName").status, 0);
}

TEST_F(TestLibrary, CanExpectTheFailure) {
  EXPECT_EQ(Run("--expect=fail --gtest_filter=Crash.Recorded").status, 0);
  const Ran other = Run("--expect=fail --gtest_filter=Crash.OtherName");
  EXPECT_EQ(other.status, 1);
  EXPECT_THAT(other.output, HasSubstr("ended otherwise: returned"));
  EXPECT_EQ(Run("--expect=maybe").status, 2);
}

TEST_F(TestLibrary, SkipsAFrameThatTheReportDoesNotHave) {
  const Ran ran = Run("--gtest_filter=Crash.Missing");
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.output, HasSubstr("frame 40 says nothing about the bug here: the report has no frame 40"));
}

TEST_F(TestLibrary, RewindsAStreamWhereTheTestSaysSo) {
  const Ran ran = Run("--gtest_filter=Stream.Rewound");
  EXPECT_EQ(ran.status, 1) << ran.output;
  EXPECT_THAT(ran.output, HasSubstr("SIGSEGV in Greeter::Length at program.cc:"));
  EXPECT_THAT(ran.output, HasSubstr("happens again when frame 1"));
  EXPECT_EQ(Run("--gtest_filter=Stream.AtItsEnd").status, 0);
}

// In a child and in place alike, and the test after it starts afresh.
TEST_F(TestLibrary, SaysWhyAStreamCannotBeRewound) {
  for (const char* option : {"", "--recrash-in-process "}) {
    const Ran ran = Run(option + std::string("--gtest_filter=Stream.*"));
    EXPECT_EQ(ran.status, 1);
    EXPECT_THAT(ran.output, HasSubstr("says nothing about the bug here: a stream could not be rewound: SIGSEGV in "));
    EXPECT_THAT(ran.output, HasSubstr("says nothing about the bug here: parameter 2 is no stream that can be rewound"));
    EXPECT_THAT(ran.output, HasSubstr("[  FAILED  ] Stream.Rewound"));
    EXPECT_THAT(ran.output, HasSubstr("[       OK ] Stream.AtItsEnd"));
  }
}

TEST_F(TestLibrary, IsAnOrdinaryGoogleTestExecutable) {
  const Ran list = Run("--gtest_list_tests");
  EXPECT_EQ(list.status, 0);
  EXPECT_THAT(list.output, HasSubstr("Crash.\n  Recorded\n"));
  Run("--gtest_output=xml:" + Path("out.xml"));
  const Ran xml = RunCommand("grep -c '<testcase' " + Path("out.xml"));
  EXPECT_EQ(xml.output, "9\n");
}

TEST_F(TestLibrary, RunsInPlaceForADebugger) {
  const Ran ran = Run("--recrash-in-process");
  EXPECT_EQ(ran.status, 1) << ran.output;
  EXPECT_THAT(ran.output, HasSubstr("[  FAILED  ] Crash.Recorded"));
  EXPECT_THAT(ran.output, HasSubstr("[       OK ] Crash.OtherName"));
}

TEST_F(TestLibrary, RunsWithoutTheRecordedBases) {
  EXPECT_EQ(Run("--recrash-no-same-bases --expect=fail --gtest_filter=Crash.Recorded").status, 0);
}

// A report names functions, files and messages as it likes, and so does the program.
TEST(TestLibraryOfAHostileReport, PrintsNothingThatATerminalObeys) {
  constexpr char kPwn[] =
      "\x1b]0;pwn\x07\xc2\x9b"
      "2J\xe2\x80\xae\nrecrash: all is well";
  ReplayedProgram program(R"(
#include <stdexcept>
__attribute__((noinline)) int Check(int count) {
  if (count == 9) throw std::runtime_error("\xc2\x9b other");
  if (count < 9) throw std::runtime_error("\x1b]0;pwn\x07");
  return count;
}
int main(int argc, char**) { return Check(argc) + 1; }
)");
  program.report().replay.frames[0].function += kPwn;
  const std::string tests = BuildTestLibrary(program, R"(
#include <recrash/test.h>
TEST(Crash, Recorded) { RECRASH_EXPECT_FIXED(recrash::Frame(0).Call(1)); }
TEST(Crash, Other) { RECRASH_EXPECT_FIXED(recrash::Frame(0).Call(9)); }
)");
  const auto is_clean = [](const Ran& ran) {
    EXPECT_EQ(ran.output.find_first_of("\x1b\x07\x9b"), ran.output.npos) << ran.output;
    EXPECT_THAT(ran.output, Not(HasSubstr("\xe2\x80\xae")));
    EXPECT_THAT(ran.output, Not(HasSubstr("\nrecrash: all is well")));
  };
  const Ran ran = RunCommand(tests);
  is_clean(ran);
  EXPECT_THAT(ran.output, HasSubstr("std::runtime_error (\\x1b]0;pwn\\x07)"));
  EXPECT_THAT(ran.output, HasSubstr("std::runtime_error: \\u009b other"));
  EXPECT_THAT(ran.output, HasSubstr("\\x1b]0;pwn\\x07\\u009b2J\\u202e\\nrecrash: all is well"));
  // What the launcher says itself.
  for (Module& module : program.report().modules)
    if (module.path.find("libc.so") != module.path.npos) module.build_id = kPwn;
  const Ran refused = RunCommand(BuildTestLibrary(program, "#include <recrash/test.h>\n"));
  is_clean(refused);
  EXPECT_THAT(refused.output, HasSubstr("the report needs build-id \\x1b]0;pwn\\x07"));
}

// Tests that were built for another version would call it with other arguments.
TEST(TestLibraryOfAnOlderVersion, IsNotRun) {
  const ReplayedProgram program("int main(int argc, char**) { return *(argc > 5 ? &argc : nullptr); }", "-O0 -g");
  const std::string tests = BuildTestLibrary(
      program,
      "extern \"C\" __attribute__((visibility(\"default\"))) int recrash_test_main(int, char**, const void*) "
      "{ return 0; }\n");
  const Ran ran = RunCommand(tests);
  EXPECT_EQ(ran.status, 114) << ran.output;
  EXPECT_THAT(ran.output, HasSubstr("libtests.so was built with version 1 of <recrash/test.h>, this replay library "
                                    "needs version " +
                                    std::to_string(kReplayVersion) + "\n  build the tests again"));
}

TEST_F(TestLibrary, SaysWhatIsMissing) {
  const Ran ran = Run("--program /nowhere/program");
  EXPECT_EQ(ran.status, 4);
  EXPECT_THAT(ran.output, HasSubstr("recrash: error: the program /nowhere/program is not there"));
  const Ran by_environment = RunCommand("RECRASH_PROGRAM=/nowhere/else " + Path("crash_test"));
  EXPECT_EQ(by_environment.status, 4);
}

}  // namespace
}  // namespace recrash
