// Replays in a build that passes arguments in another way than the one that crashed: an optimiser may, where it sees
// all calls of a function.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "testgen/verify/testing_replayed_program.h"

namespace recrash {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

// Optimised, neither Read nor Sum gets the name, and main does not read it. HANDED: others may call Sum, and then a
// name that is a number is just not used.
constexpr char kUnused[] = R"(
#include <cstdio>
struct Cell { const int* value; };
#ifdef HANDED
using Name = unsigned long;
#else
using Name = const char*;
#endif
static __attribute__((noinline)) int Read(Name, int, const Cell* cell) {
#ifdef FIXED
  if (!cell->value) return 0;
#endif
  return *cell->value + 1;
}
#ifndef GLOBAL
static
#endif
__attribute__((noinline)) int Sum(Name name, const Cell* cells, int count) {
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += Read(name, i, &cells[i]);
  return sum;
}
#ifdef HANDED
int (*volatile handed)(Name, const Cell*, int) = Sum;
#else
#define handed Sum
#endif
int main(int argc, char** argv) {
  const int seven = 7;
  const Cell cells[] = {{&seven}, {argc > 3 ? &seven : nullptr}};
  std::printf("%d", handed((Name)argv[0], cells, argc + 1));
}
)";

TEST(ChangedCalls, AreNotMadeAsRecorded) {
  ReplayedProgram program(kUnused, "-O0 -g");
  for (const char* level : {"-O1 -g", "-O2 -g", "-O3 -g", "-Os -g"}) {
    VerifyOptions options;
    options.program = program.Rebuild(kUnused, level);
    // What Read was given may be read in Sum.
    EXPECT_THAT(program.Verify("main", options).verdict, AnyOf(Verdict::kReproduced, Verdict::kDifferentFailure))
        << level;
    for (const char* function : {"Sum", "Read"}) {
      const FrameVerdict verdict = program.Verify(function, options);
      EXPECT_EQ(verdict.verdict, Verdict::kCannotReplay) << level << program.text();
      EXPECT_THAT(verdict.note, HasSubstr("may get its arguments in another way in this build")) << level;
      EXPECT_THAT(verdict.note, HasSubstr("a twin has it")) << level;
    }
  }
}

TEST(ChangedCalls, AreNotMadeAsTheBuildThatCrashedMadeThem) {
  ReplayedProgram program(kUnused, "-O2 -g");
  VerifyOptions options;
  options.program = program.Rebuild(kUnused, "-O0 -g");
  EXPECT_EQ(program.Verify("main", options).verdict, Verdict::kReproduced) << program.text();
  for (const char* function : {"Sum", "Read"}) {
    const FrameVerdict verdict = program.Verify(function, options);
    EXPECT_EQ(verdict.verdict, Verdict::kCannotReplay) << program.text();
    EXPECT_THAT(verdict.note, HasSubstr("may have got its arguments in another way in the build that crashed"));
  }
  // In that build itself nothing is wrong with them.
  for (const char* function : {"Sum", "Read"})
    EXPECT_EQ(program.Verify(function).verdict, Verdict::kReproduced) << program.text();
}

TEST(ChangedCalls, AreNotTakenForThoseOfFunctionsThatOthersMayCall) {
  for (const char* macros : {" -DHANDED", " -DGLOBAL", " -DGLOBAL -DHANDED"}) {
    ReplayedProgram program(kUnused, std::string("-O0 -g") + macros);
    for (const char* level : {"-O1 -g", "-O2 -g"}) {
      VerifyOptions options;
      options.program = program.Rebuild(kUnused, std::string(level) + macros);
      EXPECT_EQ(program.Verify("Sum", options).verdict, Verdict::kReproduced) << level << macros << program.text();
    }
  }
}

TEST(ChangedCalls, AreNotMadeOfAFunctionThatWasRenamedEither) {
  std::string renamed = kUnused;
  for (size_t at; (at = renamed.find("Sum")) != std::string::npos;) renamed.replace(at, 3, "Total");
  ReplayedProgram program(kUnused, "-O0 -g");
  VerifyOptions options;
  options.program = program.Rebuild(renamed, "-O0 -g");
  EXPECT_EQ(program.Verify("Sum", options).verdict, Verdict::kReproduced) << program.text();
  options.program = program.Rebuild(renamed, "-O1 -g");
  EXPECT_EQ(program.Verify("Sum", options).verdict, Verdict::kCannotReplay) << program.text();
}

// Link-time optimisation makes functions local, and may change them then.
TEST(ChangedCalls, AreKnownAfterLinkTimeOptimisation) {
  for (const std::string macros : {" -DGLOBAL", " -DGLOBAL -DHANDED"}) {
    ReplayedProgram program(kUnused, "-O0 -g" + macros);
    VerifyOptions options;
    options.program = program.Rebuild(kUnused, "-O2 -g -flto -fuse-ld=lld" + macros);
    const FrameVerdict sum = program.Verify("Sum", options);
    if (macros == " -DGLOBAL") {
      EXPECT_EQ(sum.verdict, Verdict::kCannotReplay) << program.text();
      EXPECT_THAT(sum.note, HasSubstr("may get its arguments in another way"));
    } else {
      // What Read was given is read in Sum here.
      EXPECT_EQ(sum.verdict, Verdict::kDifferentFailure) << program.text();
      options.program = program.Rebuild(kUnused, "-O2 -g -flto -fuse-ld=lld -DFIXED" + macros);
      EXPECT_EQ(program.Verify("Sum", options).verdict, Verdict::kReturned) << program.text();
    }
  }
}

// Without debug information nobody knows.
TEST(ChangedCalls, AreNotMadeWhereNothingIsKnownOfThem) {
  ReplayedProgram program(kUnused, "-O0 -g");
  VerifyOptions options;
  options.program = program.Rebuild(kUnused, "-O2");
  const FrameVerdict verdict = program.Verify("Sum", options);
  EXPECT_EQ(verdict.verdict, Verdict::kCannotReplay) << program.text();
  EXPECT_THAT(verdict.note, HasSubstr("build it with -g"));
}

}  // namespace
}  // namespace recrash
