// Replays with another build of a library of the program's own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "testgen/verify/testing_replayed_program.h"

namespace recrash {
namespace {

using ::testing::HasSubstr;

constexpr char kWalkLibrary[] = R"(
#include <cstddef>
#include <cstdio>
#include <cstdlib>
EXTRA
struct Walk { virtual ~Walk(); virtual size_t At(long index) const; long steps = 0; size_t* table = nullptr; };
static int walks = 40;
static long Twice(long x) { return x * 2; }
long (*transform)(long) = Twice;
Walk::~Walk() {}
size_t Walk::At(long index) const {
  if (walks != 43 || transform(4) != 8) std::exit(3);
  BODY
}
extern "C" Walk* NewWalk() { walks += 3; return new Walk; }
)";

constexpr char kWalkProgram[] = R"(
#include <cstddef>
#include <cstdio>
#include <cstdlib>
EXTRA
struct Walk { virtual ~Walk(); virtual size_t At(long index) const; long steps = 0; size_t* table = nullptr; };
extern "C" Walk* NewWalk();
static int steps = 40;
__attribute__((noinline)) size_t Step(Walk* walk, long by) {
  if (steps != 43) std::exit(4);
  walk->steps += by;
  return walk->At(walk->steps) + 1;
}
int main(int argc, char**) {
  Walk* walk = NewWalk();
  steps += 3;
  return Step(walk, argc) != 0;
}
)";

// Moves everything behind it.
constexpr char kMore[] = R"(
int unrelated_table[1000] = {1, 2, 3};
__attribute__((used, noinline)) int Unrelated(int x) { std::printf("%d", x); return unrelated_table[x] + 7; }
)";
constexpr char kUnchecked[] = "return table[index];";
constexpr char kChecked[] = "return table ? table[index] : 0;";

std::string Fill(std::string source, const std::string& extra, const std::string& body = "") {
  source.replace(source.find("EXTRA"), 5, extra);
  if (source.find("BODY") != std::string::npos) source.replace(source.find("BODY"), 4, body);
  return source;
}

// libwalk.so in a folder of its own, monitored as the program is.
class WalkLibrary {
 public:
  explicit WalkLibrary(const std::string& extra, const std::string& body = kUnchecked, const std::string& flags = "") {
    Build(extra, body, flags);
  }
  void Build(const std::string& extra, const std::string& body, const std::string& flags = "") const {
    std::ofstream(folder_ / "walk.cc") << Fill(kWalkLibrary, extra, body);
    const std::string command = "cd " + folder_.path() + " && rm -f libwalk.so && " RECRASH_TEST_CXX " " +
                                Monitored("-O2 -g " + flags) + " -fPIC -shared walk.cc -o libwalk.so";
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
  }
  // For a program that needs it.
  std::string Flags(const std::string& others = "-O2 -g") const {
    return others + " -L" + folder_.path() + " -Wl,-rpath," + folder_.path() + " -Wl,--no-as-needed -lwalk";
  }
  std::string path() const { return folder_ / "libwalk.so"; }

 private:
  TemporaryDirectory folder_;
};

// A walk.cc that was fixed, and a program that does not know of it.
TEST(Verify, ReproducesWithARebuiltLibraryAndNotWithAFixedOne) {
  for (const char* flags : {"-O2 -g", "-O0 -g", "-O2 -g -no-pie -fno-pie"}) {
    const WalkLibrary library("");
    const ReplayedProgram program(Fill(kWalkProgram, ""), library.Flags(flags));
    ASSERT_EQ(program.report().replay.images.size(), 2u);
    EXPECT_EQ(program.Verify("Walk::At").verdict, Verdict::kReproduced) << flags << "\n" << program.text();
    library.Build(kMore, kUnchecked);
    EXPECT_EQ(program.Verify("Walk::At").verdict, Verdict::kReproduced) << flags << "\n" << program.text();
    EXPECT_EQ(program.Verify("Step").verdict, Verdict::kReproduced) << flags << "\n" << program.text();
    library.Build(kMore, kChecked);
    VerifyOptions rebased;
    rebased.allow_same_bases = false;
    for (const VerifyOptions& options : {VerifyOptions{}, rebased}) {
      EXPECT_EQ(program.Verify("Walk::At", options).verdict, Verdict::kReturned) << flags << "\n" << program.text();
      EXPECT_EQ(program.Verify("Step", options).verdict, Verdict::kReturned) << flags << "\n" << program.text();
    }
  }
}

// The new program finds its library elsewhere; the old one still lies where it was, and does not count.
TEST(Verify, ReproducesWithProgramAndLibraryRebuiltInAnotherFolder) {
  const WalkLibrary old_library("");
  ReplayedProgram program(Fill(kWalkProgram, ""), old_library.Flags());
  const WalkLibrary library(kMore);
  VerifyOptions options;
  options.program = program.Rebuild(Fill(kWalkProgram, kMore), library.Flags());
  EXPECT_EQ(program.Verify("Walk::At", options).verdict, Verdict::kReproduced) << program.text();
  EXPECT_EQ(program.Verify("Step", options).verdict, Verdict::kReproduced) << program.text();
  library.Build(kMore, kChecked);
  EXPECT_EQ(program.Verify("Walk::At", options).verdict, Verdict::kReturned) << program.text();
  EXPECT_EQ(program.Verify("Step", options).verdict, Verdict::kReturned) << program.text();
}

constexpr char kEntry[] =
    "extern \"C\" __attribute__((noinline)) size_t Entry(size_t* table, long i) { return table[i] + 1; }";

// Named by its path, as a linker does that is given the file and finds no soname in it.
TEST(Verify, ReproducesWithALibraryThatTheProgramNamesByItsPath) {
  const WalkLibrary old_library("");
  ReplayedProgram program(Fill(kWalkProgram, ""), "-O2 -g " + old_library.path());
  const WalkLibrary library(kMore);
  VerifyOptions options;
  options.program = program.Rebuild(Fill(kWalkProgram, kMore), "-O2 -g " + library.path());
  EXPECT_EQ(program.Verify("Walk::At", options).verdict, Verdict::kReproduced) << program.text();
  library.Build(kMore, kChecked);
  EXPECT_EQ(program.Verify("Walk::At", options).verdict, Verdict::kReturned) << program.text();
}

// A call at the recorded offset in another build would run any code.
TEST(Verify, CallsNothingInABuildThatItDidNotLookAt) {
  const WalkLibrary library(""), other(kMore);
  const std::string loads =
      "#include <dlfcn.h>\n__attribute__((constructor)) void LoadFirst() {"
      " if (const char* path = std::getenv(\"RECRASH_TEST_LIBRARY\")) dlopen(path, RTLD_NOW); }";
  const ReplayedProgram program(Fill(kWalkProgram, loads), library.Flags());
  EXPECT_EQ(program.Verify("Walk::At").verdict, Verdict::kReproduced) << program.text();
  setenv("RECRASH_TEST_LIBRARY", other.path().c_str(), 1);
  EXPECT_EQ(program.Verify("Walk::At").verdict, FrameVerdict().verdict) << program.text();
  EXPECT_THAT(program.text(), HasSubstr(other.path() + ": needed build-id "));
  unsetenv("RECRASH_TEST_LIBRARY");
}

// A crash in a function that was split off from the recorded one is the same place.
TEST(Verify, TellsASplitFunctionInARebuiltLibrary) {
  const WalkLibrary library("");
  const ReplayedProgram program(Fill(kWalkProgram, ""), library.Flags());
  library.Build(kEntry, "return Entry(table, index) * 2;");
  const FrameVerdict verdict = program.Verify("Walk::At");
  EXPECT_EQ(verdict.verdict, Verdict::kReproduced) << program.text();
}

// A crash in another function that both builds have is not.
TEST(Verify, TellsPlacesInARebuiltLibrary) {
  const WalkLibrary library(kEntry);
  const ReplayedProgram program(Fill(kWalkProgram, ""), library.Flags());
  library.Build(kEntry, "return Entry(table, index) * 2;");
  const FrameVerdict verdict = program.Verify("Walk::At");
  EXPECT_EQ(verdict.verdict, Verdict::kDifferentFailure) << program.text();
  EXPECT_THAT(verdict.note, HasSubstr("SIGSEGV in Entry"));
}

TEST(Verify, SaysThatAFunctionIsGoneFromARebuiltLibrary) {
  const WalkLibrary library(
      "extern \"C\" __attribute__((noinline)) size_t Leaf(size_t* table) { volatile size_t sum = *table; return sum; }",
      "return Leaf(table) + index;");
  const ReplayedProgram program(Fill(kWalkProgram, ""), library.Flags());
  library.Build("", kUnchecked);
  const FrameVerdict verdict = program.Verify("Leaf");
  EXPECT_EQ(verdict.verdict, Verdict::kCannotReplay) << program.text();
  EXPECT_THAT(verdict.note, HasSubstr("is not in this build of libwalk.so"));
}

TEST(Verify, TellsABuildOfALibraryFromAnotherWithoutBuildIds) {
  const std::string flags = "-Wl,--build-id=none";
  const WalkLibrary library("", kUnchecked, flags);
  const ReplayedProgram program(Fill(kWalkProgram, ""), library.Flags());
  EXPECT_EQ(program.Verify("Walk::At").verdict, Verdict::kReproduced) << program.text();
  library.Build(kMore, kChecked, flags);
  EXPECT_EQ(program.Verify("Walk::At").verdict, Verdict::kReturned) << program.text();
}

// Variables keep their values by their names, others begin as in a new thread.
TEST(Verify, ReplaysARebuiltLibraryWhoseThreadLocalsMoved) {
  const WalkLibrary library("thread_local int depth = 5; thread_local int steps_left = 3;",
                            "if (depth == 5) depth = 7; else std::exit(6); " + std::string(kUnchecked));
  const ReplayedProgram program(Fill(kWalkProgram, ""), library.Flags());
  const std::string kept = "if (depth != 7 || steps_left != 3) std::exit(7); " + std::string(kUnchecked);
  const std::string more =
      " for (int k = 0; k < 100; ++k) free(malloc(k * 10)); if (first[0] != 9) std::exit(8); " + kept;
  const std::string of_other_size =
      kMore + std::string("thread_local long depth = 5; thread_local int steps_left = 3;");
  const std::string same_size = "thread_local int steps_left = 3; thread_local int depth = 5;";
  library.Build(kMore + same_size, kept);
  EXPECT_EQ(program.Verify("Walk::At").verdict, Verdict::kReproduced) << program.text();
  library.Build("thread_local int first[30] = {9}; " + same_size, more);
  EXPECT_EQ(program.Verify("Walk::At").verdict, Verdict::kReproduced) << program.text();
  library.Build(of_other_size, "return 0;");
  EXPECT_EQ(program.Verify("Walk::At").note,
            "returned, but this replay does not have the thread-local variable depth of libwalk.so, which has another "
            "size");
  library.Build(same_size, "return depth;", "-s");
  EXPECT_EQ(program.Verify("Step").verdict, Verdict::kMissing) << program.text();
  EXPECT_THAT(program.text(), HasSubstr("the thread-local variables of libwalk.so, for which there are no symbols"));
}

// One that the program had loaded itself comes back by its recorded path.
TEST(Verify, ReproducesWithARebuiltLibraryThatWasLoadedAtRunTime) {
  const WalkLibrary library("");
  std::string source = Fill(kWalkProgram, "#include <dlfcn.h>");
  const std::string call = "NewWalk();\n  steps";
  source.replace(
      source.find(call), call.size(),
      "reinterpret_cast<Walk* (*)()>(dlsym(dlopen(\"" + library.path() + "\", RTLD_NOW), \"NewWalk\"))();\n  steps");
  const ReplayedProgram program(source, "-O2 -g -Wl,--unresolved-symbols=ignore-all");
  VerifyOptions own;  // it lies neither beside the program nor in a folder of the system
  own.code.trust_report = true;
  library.Build(kMore, kUnchecked);
  EXPECT_EQ(program.Verify("Step", own).verdict, Verdict::kReproduced) << program.text();
  library.Build(kMore, kChecked);
  EXPECT_EQ(program.Verify("Step", own).verdict, Verdict::kReturned) << program.text();
}

}  // namespace
}  // namespace recrash
