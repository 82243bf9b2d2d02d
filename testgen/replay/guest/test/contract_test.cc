// What a call of a later build says about the bug.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testgen/verify/testing_replayed_program.h"

namespace recrash {
namespace {

using testing::HasSubstr;

// The same program with another body of Inner.
std::string Program(const std::string& inner) {
  return R"(
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
struct Problem : std::runtime_error { using runtime_error::runtime_error; };
__attribute__((noinline)) int Inner(int* place) { )" +
         inner + R"( }
__attribute__((noinline)) int Outer(int* place) {
  try { return Inner(place) + 1; } catch (const char* text) { std::puts(text); return 2; }
}
int main(int argc, char**) {
  try { return Outer(argc > 5 ? &argc : nullptr); } catch (const std::exception& problem) { std::puts(problem.what()); }
}
)";
}

class Later : public testing::Test {
 protected:
  // The verdict on Inner of a build with that body.
  FrameVerdict Verify(const std::string& inner) {
    VerifyOptions options;
    options.program = program_.Rebuild(Program(inner));
    return program_.Verify("Inner", options);
  }

  ReplayedProgram program_{Program("return *place;")};
};

TEST_F(Later, ThrowsWhatARecordedCallerCatches) {
  EXPECT_EQ(Verify("if (!place) throw Problem(\"none\"); return *place;").verdict, Verdict::kCaught);
  EXPECT_EQ(Verify("if (!place) throw \"none\"; return *place;").verdict, Verdict::kCaught);
}

TEST_F(Later, ThrowsWhatNobodyCatches) {
  const FrameVerdict verdict = Verify("if (!place) throw 7; return *place;");
  EXPECT_EQ(verdict.verdict, Verdict::kDifferentFailure) << program_.text();
  EXPECT_THAT(verdict.note, HasSubstr("uncaught int"));
}

// Whatever was at descriptor 0 is not there in a replay. That matters to those alone who read it.
TEST_F(Later, ExitsAndHasReadWhatIsNotThere) {
  std::erase_if(program_.report().files, [](const OpenFile& file) { return file.descriptor == 0; });
  OpenFile pipe;
  pipe.descriptor = 0;
  pipe.path = "pipe:[4711]";
  program_.report().files.push_back(pipe);
  EXPECT_EQ(Verify("std::exit(1);").verdict, Verdict::kExited) << program_.text();
  const FrameVerdict verdict = Verify("std::exit(std::getchar() == EOF);");
  EXPECT_EQ(verdict.verdict, Verdict::kMissing) << program_.text();
  EXPECT_EQ(verdict.note, "exit(1), but this replay does not have descriptor 0 (pipe:[4711])");
  // Another file under that number is read as it is.
  EXPECT_EQ(Verify("close(0); std::exit(open(\"/proc/self/cmdline\", 0) != 0 || std::getchar() == EOF);").note,
            "exit(0)");
}

TEST_F(Later, ExitsAndHasNotFoundAFile) {
  EXPECT_EQ(Verify("std::exit(std::fopen(\"/nowhere/rules\", \"r\") == nullptr);").verdict, Verdict::kMissing);
  EXPECT_EQ(Verify("std::exit(std::fopen(\"/nowhere/rules\", \"r\") != nullptr);").verdict, Verdict::kExited);
  EXPECT_EQ(Verify("struct stat s; std::exit(stat(\"/etc/nothing\", &s) != 0);").verdict, Verdict::kExited);
}

TEST_F(Later, ComputesWithoutAnEnd) {
  VerifyOptions options;
  options.program = program_.Rebuild(Program("for (volatile int i = 0; ; ) i = 1; return *place;"));
  options.seconds_per_frame = 1;
  EXPECT_EQ(program_.Verify("Inner", options).verdict, Verdict::kTimedOut) << program_.text();
}

}  // namespace
}  // namespace recrash
