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
  EXPECT_THAT(Verify("close(0); std::exit(open(\"/proc/self/cmdline\", 0) != 0 || std::getchar() == EOF);").note,
              testing::StartsWith("exit(0)"));
}

TEST_F(Later, ExitsAndHasNotFoundAFile) {
  EXPECT_EQ(Verify("std::exit(std::fopen(\"/nowhere/rules\", \"r\") == nullptr);").verdict, Verdict::kMissing);
  EXPECT_EQ(Verify("std::exit(std::fopen(\"/nowhere/rules\", \"r\") != nullptr);").verdict, Verdict::kExited);
  EXPECT_EQ(Verify("struct stat s; std::exit(stat(\"/etc/nothing\", &s) != 0);").verdict, Verdict::kExited);
}

// The fix of an exception that nobody caught may be a handler further out.
TEST(LaterBuild, CatchesWhatNobodyCaught) {
  const auto source = [](const std::string& serve) {
    return "struct Empty { int left; };\n"
           "__attribute__((noinline)) int Take(int left) { if (left < 4) throw Empty{left}; return left - 4; }\n"
           "__attribute__((noinline)) int Order(int left) { int rest = Take(left); return rest + 1; }\n"
           "__attribute__((noinline)) int Serve(int left) { " +
           serve + " }\nint main(int argc, char**) { int served = Serve(argc); return served + 1; }\n";
  };
  ReplayedProgram program(source("int rest = Order(left); return rest + 1;"));
  VerifyOptions options;
  options.program =
      program.Rebuild(source("try { return Order(left); } catch (const Empty& empty) { return empty.left; }"));
  for (const char* function : {"Take", "Order"})
    EXPECT_EQ(program.Verify(function, options).verdict, Verdict::kCaught) << program.text();
  // Of two calls only one is guarded, and that is not the one that fails.
  options.program = program.Rebuild(source(
      "int sum = 0; try { sum = Order(left + 8); } catch (const Empty& empty) { sum = empty.left; } return sum + "
      "Order(left);"));
  for (const char* function : {"Take", "Order"})
    EXPECT_EQ(program.Verify(function, options).verdict, Verdict::kReproduced) << program.text();
}

// What a compiler makes of a null that must not be: the check before it goes, and the call writes where it should not.
TEST(LaterBuild, WritesBeyondABlockOfTheHeap) {
  const auto source = [](const std::string& body) {
    return "#include <cstdlib>\n"
           "__attribute__((noinline)) long Fill(unsigned char* block, long size) {" +
           body +
           "for (volatile long i = 0; i < size; i = i + 1) block[i] = 0xff; std::free(std::malloc(2000)); return size; "
           "}\n"
           "int main(int argc, char**) {"
           "unsigned char *volatile block = static_cast<unsigned char*>(std::malloc(64)), *volatile next = "
           "static_cast<unsigned "
           "char*>(std::malloc(64));"
           "return static_cast<int>(Fill(block, argc * 80) + next[0]); }";
  };
  ReplayedProgram program(source("if (size > 64) *static_cast<volatile int*>(nullptr) = 1;"));
  VerifyOptions options;
  options.program = program.Rebuild(source(""));
  const FrameVerdict verdict = program.Verify("Fill", options);
  EXPECT_EQ(verdict.verdict, Verdict::kDifferentFailure) << program.text();
  EXPECT_THAT(verdict.note, HasSubstr("returned, but it had written beyond the end of the heap block at 0x"));
  options.program = program.Rebuild(source("if (size > 64) size = 64;"));
  EXPECT_EQ(program.Verify("Fill", options).verdict, Verdict::kReturned) << program.text();
  const std::string uses_the_heap =
      "if (size > 64) size = 64; for (int i = 1; i < 99; ++i) { void* a = std::malloc(i * 333); "
      "void* b = std::malloc(i * 50); std::free(a); if (i % 2) std::free(b); } std::free(block + 80); size = 0;";
  options.program = program.Rebuild(source(uses_the_heap));
  EXPECT_EQ(program.Verify("Fill", options).verdict, Verdict::kReturned) << program.text();
}

TEST_F(Later, ComputesWithoutAnEnd) {
  VerifyOptions options;
  options.program = program_.Rebuild(Program("for (volatile int i = 0; ; ) i = 1; return *place;"));
  options.seconds_per_frame = 1;
  EXPECT_EQ(program_.Verify("Inner", options).verdict, Verdict::kTimedOut) << program_.text();
}

}  // namespace
}  // namespace recrash
