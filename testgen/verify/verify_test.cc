// Whole replays of small real programs: crash, capture, frames, verdicts.
#include "testgen/verify/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testgen/verify/replayed_program.h"

namespace recrash {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr char kNullName[] = R"(
#include <cstdio>
#include <cstdlib>
#include <string>
struct Greeter {
  std::string greeting;
  int count = 0;
  __attribute__((noinline)) int Length(const char* name);
  __attribute__((noinline)) int Greet(const char* name);
};
int Greeter::Length(const char* name) { return greeting.size() + name[0] + count; }
int Greeter::Greet(const char* name) { ++count; return Length(name) + 1; }
int main(int argc, char** argv) {
  Greeter greeter{"hello, this is a long greeting"};
  std::printf("%d\n", greeter.Greet(argc > 5 ? argv[1] : nullptr));
}
)";

TEST(Verify, DBG) {
  const ReplayedProgram program(kNullName, "-O2 -g");
  VerifyOptions o; o.allow_same_bases = false;
  EXPECT_EQ(program.Verify("Greeter::Length", o).verdict, Verdict::kReproduced) << program.text();
}

TEST(Verify, ReproducesEachFrameOfANullPointer) {
  const ReplayedProgram program(kNullName, "-O2 -g");
  EXPECT_EQ(program.Verify("Greeter::Length").verdict, Verdict::kReproduced) << program.text();
  EXPECT_EQ(program.Verify("Greeter::Greet").verdict, Verdict::kReproduced) << program.text();
}

}  // namespace
}  // namespace recrash
