// Replays in another build of the program that crashed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "testgen/verify/testing_replayed_program.h"
#include "testgen/verify/unused.h"

namespace recrash {
namespace {

using ::testing::HasSubstr;

constexpr char kShape[] = R"(
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>
EXTRA
struct Shape { virtual ~Shape() {} virtual int Sides() const = 0; };
struct Square : Shape { int Sides() const override { return 4; } };
struct Triangle : Shape { int Sides() const override { return 3; } };
static int total = 40;
static int Twice(int x) { return x * 2; }
int (*transform)(int) = Twice;
static std::vector<Shape*> shapes;
__attribute__((noinline)) int Count(const char* title, size_t i) {
  int sides = transform(shapes[0]->Sides()) + transform(shapes[1]->Sides());
  if (sides != 14 || total != 43) std::exit(3);
  if (title[0] != 's') std::exit(4);
  BODY
}
__attribute__((noinline)) int Sum(const char* title, size_t n) { total += 0; return Count(title, n) + total; }
int main(int argc, char**) {
  shapes = {new Square, new Triangle, nullptr};
  total += 3;
  std::printf("%d\n", Sum("shapes", argc + 1));
}
)";

std::string Shape(const std::string& extra, const std::string& body) {
  std::string source = kShape;
  source.replace(source.find("EXTRA"), 5, extra);
  source.replace(source.find("BODY"), 4, body);
  return source;
}

constexpr char kCrashing[] = "return shapes[i]->Sides();";
constexpr char kFixed[] = "return shapes[i] ? shapes[i]->Sides() : 0;";
// Moves everything behind it.
constexpr char kMore[] = R"(
int unrelated_table[1000] = {1, 2, 3};
__attribute__((used, noinline)) int Unrelated(int x) { std::printf("%d", x); return unrelated_table[x] + 7; }
)";

TEST(Verify, ReproducesInARebuiltProgramAndNotInAFixedOne) {
  for (const char* flags : {"-O2 -g", "-O2 -g -no-pie -fno-pie", "-O0 -g"}) {
    ReplayedProgram program(Shape("", kCrashing), flags);
    VerifyOptions options;
    options.program = program.Rebuild(Shape(kMore, kCrashing), flags);
    EXPECT_EQ(program.Verify("Count", options).verdict, Verdict::kReproduced) << flags << "\n" << program.text();
    EXPECT_EQ(program.Verify("Sum", options).verdict, Verdict::kReproduced) << flags << "\n" << program.text();
    options.program = program.Rebuild(Shape(kMore, kFixed), flags);
    EXPECT_EQ(program.Verify("Count", options).verdict, Verdict::kReturned) << flags << "\n" << program.text();
    EXPECT_EQ(program.Verify("Sum", options).verdict, Verdict::kReturned) << flags << "\n" << program.text();
    options.allow_same_bases = false;
    EXPECT_EQ(program.Verify("Count", options).verdict, Verdict::kReturned) << flags << "\n" << program.text();
  }
}

// AddressSanitizer makes variables larger, and among them what says that a static local has been initialised.
TEST(Verify, KeepsVariablesThatAddressSanitizerMakesLarger) {
  const std::string source = R"(
#include <cstdlib>
int appended = 40;
long names[5] = {1, 2, 3};
struct Log {
  int* line = new int(0);
  ~Log() { line = nullptr; }
};
Log& TheLog() { static Log log; return log; }
__attribute__((noinline)) int Append(int more) {
  if (names[4] != 5 || appended != 41) std::exit(3);
  return *TheLog().line += more;
}
int main(int argc, char**) {
  appended = 41;
  names[4] = 5;
  Append(argc);
  TheLog().~Log();
  return Append(argc + 1);
}
)";
  const char *plain = "-O1 -g", *sanitized = "-O1 -g -fsanitize=address";
  for (const auto& [crashing, later] : {std::pair(plain, sanitized), std::pair(plain, plain)}) {
    ReplayedProgram program(source, crashing);
    VerifyOptions options;
    options.program = program.Rebuild(source + "int more = 1;", later);
    EXPECT_EQ(program.Verify("Append", options).verdict, Verdict::kReproduced) << later << "\n" << program.text();
  }
}

// What aborted throws after the fix, for a caller further out to catch; called by a test, nobody does. The abort of a
// catch handler comes with an exception as well, and stays what it is.
TEST(Verify, TellsAThrowFromTheAbortThatWasThere) {
  const auto source = [](const std::string& extra, const std::string& refusal) {
    return "#include <cstdio>\n#include <cstdlib>\n#include <stdexcept>\n" + extra + R"(
__attribute__((noinline)) int Parse(const char* text) {
  if (text[0] == '[') )" +
           refusal + R"(
  return text[0];
}
__attribute__((noinline)) int Load(const char* text) {
  int parsed = Parse(text);
  std::printf("%d", parsed);
  return parsed;
}
int main(int argc, char**) { return Load(argc > 4 ? "text" : "[text"); }
)";
  };
  const std::string aborts = "std::abort();", throws = "throw std::runtime_error(text);";
  const std::string aborts_in_handler = "try { " + throws + " } catch (...) { std::abort(); }";
  for (const std::string& crashing : {aborts, aborts_in_handler}) {
    ReplayedProgram program(source("", crashing));
    VerifyOptions options;
    options.program = program.Rebuild(source(kMore, crashing));
    EXPECT_EQ(program.Verify("Parse", options).verdict, Verdict::kReproduced) << crashing << "\n" << program.text();
    options.program = program.Rebuild(source(kMore, throws));
    for (const char* function : {"Parse", "Load"}) {
      const FrameVerdict verdict = program.Verify(function, options);
      EXPECT_EQ(verdict.verdict, Verdict::kDifferentFailure) << crashing << "\n" << program.text();
      EXPECT_THAT(verdict.note, HasSubstr("uncaught std::runtime_error: [text"));
    }
  }
}

// A literal has no name: whoever holds its address in the heap reads it in the recorded image, which of a program that
// is not PIE cannot lie where it lay.
TEST(Verify, FindsLiteralsOfTheProgramThatCrashed) {
  const auto source = [](const std::string& extra) {
    return "#include <cstdio>\n#include <cstdlib>\n#include <cstring>\n" + extra + R"(
struct Title { const char* text; int* cell; };
__attribute__((noinline)) int Show(Title* title) {
  if (title->text[0] != 'c' || std::strlen(title->text) != 11) std::exit(5);
  return *title->cell;
}
int main(int argc, char**) { return Show(new Title{argc > 4 ? "another" : "crash title", nullptr}); }
)";
  };
  for (const char* flags : {"-O2 -g", "-O2 -g -no-pie -fno-pie"}) {
    ReplayedProgram program(source(""), flags);
    VerifyOptions options;
    options.program = program.Rebuild(source(kMore), flags);
    EXPECT_EQ(program.Verify("Show", options).verdict, Verdict::kReproduced) << flags << "\n" << program.text();
  }
}

// Without build-ids the code itself tells one build from another.
TEST(Verify, TellsABuildFromAnotherWithoutBuildIds) {
  const std::string flags = "-O2 -g -Wl,--build-id=none";
  ReplayedProgram program(Shape("", kCrashing), flags);
  EXPECT_EQ(program.Verify("Count").verdict, Verdict::kReproduced) << program.text();
  VerifyOptions options;
  options.program = program.Rebuild(Shape(kMore, kFixed), flags);
  EXPECT_EQ(program.Verify("Count", options).verdict, Verdict::kReturned) << program.text();
}

TEST(Verify, SaysThatAFunctionIsGone) {
  ReplayedProgram program(Shape("", kCrashing));
  std::string source = Shape("", kFixed);
  for (size_t at; (at = source.find("Count(")) != std::string::npos;) source.replace(at, 6, "CountSides(");
  VerifyOptions options;
  options.program = program.Rebuild(source);
  const FrameVerdict verdict = program.Verify("Count", options);
  EXPECT_EQ(verdict.verdict, Verdict::kCannotReplay) << program.text();
  EXPECT_THAT(verdict.note, HasSubstr("is not in this build of the program"));
}

// The loader's fixed offsets change for the libraries too: malloc's tcache, errno, the exceptions in flight.
TEST(Verify, ReplaysARebuiltProgramWhoseThreadLocalsMoved) {
  const std::string use =
      "if (depth == 5) depth = 7; else if (depth != EXPECTED) std::exit(6); "
      "try { throw std::string(title); } catch (const std::string& text) { title = text.c_str() + 1; } "
      "for (int k = 0; k < 100; ++k) delete new std::string(k * 10, 'x'); return shapes[i]->Sides() + title[0];";
  const auto with = [&](std::string expected) {
    std::string text = use;
    return text.replace(text.find("EXPECTED"), 8, expected);
  };
  ReplayedProgram program(Shape("thread_local int depth = 5;", with("7")));
  VerifyOptions options;
  // Another one, which begins as in a new thread.
  options.program = program.Rebuild(Shape("thread_local int first[30] = {9}; thread_local int depth = 5;",
                                          "if (first[0] != 9) std::exit(7); " + with("7")));
  EXPECT_EQ(program.Verify("Count", options).verdict, Verdict::kReproduced) << program.text();
  // The same ones, in a program that only moved.
  options.program = program.Rebuild(Shape(std::string(kMore) + "thread_local int depth = 5;", with("7")));
  EXPECT_EQ(program.Verify("Count", options).verdict, Verdict::kReproduced) << program.text();
}

// Built by another compiler it has neither our thread-local variables nor libstdc++'s: libc's, as its locale is, get
// another number.
TEST(Verify, ReplaysAProgramThatNeedsOtherLibrariesNow) {
  const std::string source =
      "#include <cassert>\n#include <cstdio>\n"
      "__attribute__((noinline)) int Check(const char* text) { assert(text[0] == 'b'); return text[0]; }\n"
      "int main(int argc, char**) { return Check(argc > 5 ? \"b\" : \"a\"); }\n";
  ReplayedProgram program(source, "-O2 -g -Wl,--no-as-needed");
  const std::string path = program.fixture().path("other");
  program.fixture().Write("program.cc", source);
  const std::string command = "cd " + program.fixture().folder() + " && gcc -O0 -g -x c++ program.cc -o other";
  ASSERT_EQ(std::system(command.c_str()), 0);
  VerifyOptions options;
  options.program = path;
  EXPECT_EQ(program.Verify("Check", options).verdict, Verdict::kReproduced) << program.text();
  LeaveOutUnused(&program.report());  // the loader's list with it
  EXPECT_EQ(program.Verify("Check", options).verdict, Verdict::kReproduced) << program.text();
}

// A function whose last act is a call leaves no frame where the compiler made a jump of it: here Length, and Show.
TEST(Verify, SeesFunctionsThatEndInACall) {
  const std::string source =
      "#include <cstdio>\n#include <cstring>\n"
      "__attribute__((noinline)) size_t Length(const char* text) { return std::strlen(text); }\n"
      "__attribute__((noinline)) size_t Show(const char* text) { return Length(text); }\n"
      "int main(int argc, char**) { std::printf(\"%zu\", Show(argc > 5 ? \"b\" : nullptr)); }\n";
  for (const auto& [flags, others] : {std::pair("-O0 -g", "-O2 -g"), std::pair("-O2 -g", "-O0 -g")}) {
    ReplayedProgram program(source, flags);
    VerifyOptions options;
    options.program = program.Rebuild(source, others);
    for (const ReplayFrame& frame : program.report().replay.frames)
      EXPECT_EQ(program.Verify(frame.function, options).verdict, Verdict::kReproduced) << flags << program.text();
  }
}

// gcc describes destructors with a parameter that no caller passes.
TEST(Verify, CallsDestructorsOfAnotherCompiler) {
  const std::string source =
      "struct Member { int* place; __attribute__((noinline)) ~Member() { *place = 0; } };\n"
      "int main(int argc, char**) { Member member{argc > 5 ? &argc : nullptr}; return argc; }\n";
  ReplayedProgram program(source);
  program.fixture().Write("program.cc", source);
  const std::string command = "cd " + program.fixture().folder() + " && gcc -O0 -g -x c++ program.cc -o other";
  ASSERT_EQ(std::system(command.c_str()), 0);
  VerifyOptions options;
  options.program = program.fixture().path("other");
  EXPECT_EQ(program.Verify("Member::~Member", options).verdict, Verdict::kReproduced) << program.text();
}

}  // namespace
}  // namespace recrash
