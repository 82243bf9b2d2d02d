// Replays in a build in which classes lie otherwise than in the one that crashed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "testgen/verify/testing_replayed_program.h"

namespace recrash {
namespace {

using ::testing::HasSubstr;

// A shop has a list of orders; the one that is asked for is not there.
constexpr char kShop[] = R"(
#include <cstdio>
#include <cstdlib>
struct Order {
#ifdef CHANGED
  long currency;
#endif
  int id;
  Order* next;
};
#ifdef HIDDEN
struct Shop { void* first; Order* spare; };
#else
struct Shop { Order* first; };
#endif
__attribute__((noinline)) int Find(Shop* shop, int id) {
  Order* order = (Order*)shop->first;
  while (order->id != id) {
#ifdef FIXED
    if (!order->next) return 0;
#endif
    if (order->id < 1 || order->id > 3) std::exit(3);
    order = order->next;
  }
  return order->id;
}
__attribute__((noinline)) int Sell(Shop* shop, int id) { int found = Find(shop, id); std::printf("%d", found); return found; }
__attribute__((noinline)) int Count(int id) {
  Shop shop = {};
  for (int i = 1; i <= 3; ++i) shop.first = new Order{
#ifdef CHANGED
    0,
#endif
    i, (Order*)shop.first};
  return Sell(&shop, id);
}
int main(int argc, char**) { return Count(argc + 6); }
)";

TEST(ChangedTypes, AreCarriedOver) {
  for (const char* level : {"-O0", "-O2"}) {
    const std::string flags = std::string(level) + " -g";
    ReplayedProgram program(kShop, flags);
    VerifyOptions options;
    options.program = program.Rebuild(kShop, flags + " -DCHANGED");
    for (const char* function : {"Find", "Sell", "Count"})
      EXPECT_EQ(program.Verify(function, options).verdict, Verdict::kReproduced) << program.text();
    options.program = program.Rebuild(kShop, flags + " -DCHANGED -DFIXED");
    for (const char* function : {"Find", "Sell", "Count"})
      EXPECT_EQ(program.Verify(function, options).verdict, Verdict::kReturned) << program.text();
  }
}

// The unions of a template's instances have no names, and stand in one line of the source.
TEST(ChangedTypes, TellUnionsOfATemplatesInstancesApart) {
  const std::string source = R"(
#include <cstdlib>
template <typename C> struct Text {
  union { C near[16 / sizeof(C)]; C* far; };
};
struct Entry {
#ifdef CHANGED
  Text<char32_t> wide;
  Text<char> narrow;
#else
  Text<char> narrow;
  Text<char32_t> wide;
#endif
  int* cell;
};
__attribute__((noinline)) int Read(Entry* entry) {
  if (entry->narrow.near[1] != 'b' || entry->wide.near[1] != U'd') std::exit(3);
  return *entry->cell;
}
int main() {
  Entry* entry = new Entry();
  for (int i = 0; i < 2; ++i) entry->narrow.near[i] = 'a' + i, entry->wide.near[i] = U'c' + i;
  return Read(entry);
}
)";
  ReplayedProgram program(source, "-O1 -g");
  VerifyOptions options;
  options.program = program.Rebuild(source, "-O1 -g -DCHANGED");
  EXPECT_EQ(program.Verify("Read", options).verdict, Verdict::kReproduced) << program.text();
}

// Compilers differ in whether debug information tells of it.
TEST(ChangedTypes, DoNotDifferWhereABaseIsGivenByAnotherName) {
  const auto with_base = [](const std::string& base) {
    return "template <typename T> struct Shelf { T* first; };\n"
           "template <typename T> using Wall = Shelf<T>;\n"
           "struct Shop : " +
           base +
           "<int> { int id; };\n"
           "__attribute__((noinline)) int First(Shop* shop) { return shop->id + *shop->first; }\n"
           "int main(int argc, char**) { Shop shop = {}; shop.id = argc; return First(&shop); }\n";
  };
  ReplayedProgram program(with_base("Wall"));
  VerifyOptions options;
  options.program = program.Rebuild(with_base("Shelf"));
  EXPECT_EQ(program.Verify("First", options).verdict, Verdict::kReproduced) << program.text();
}

// Compilers number lambdas: with one more before it, the number is another lambda's, and that one may do well.
TEST(ChangedTypes, TellALambdaFromAnotherOfItsFunction) {
  const auto source = [](const std::string& before) {
    return "template <typename F> __attribute__((noinline)) int Run(F run) { return run(); }\n"
           "int main(int argc, char**) {\n  int* place = argc > 5 ? &argc : nullptr;\n" +
           before + "  return Run([&place]() __attribute__((noinline)) { return *place; });\n}\n";
  };
  ReplayedProgram program(source(""), "-O0 -g");
  VerifyOptions options;
  options.program =
      program.Rebuild(source("  int first = Run([&place]() __attribute__((noinline)) { return place ? 1 : 2; });\n"
                             "  if (first == 3) return 4;\n"),
                      "-O0 -g");
  for (const char* function : {"main::$_0", "int Run<main::$_0>"}) {
    const FrameVerdict verdict = program.Verify(function, options);
    EXPECT_EQ(verdict.verdict, Verdict::kCannotReplay) << program.text();
    EXPECT_THAT(verdict.note, HasSubstr("another lambda in this build of the program: compilers number them"));
  }
  options.program = program.Rebuild(source("  // one line more\n"), "-O0 -g");
  for (const char* function : {"main::$_0", "int Run<main::$_0>"})
    EXPECT_EQ(program.Verify(function, options).verdict, Verdict::kReproduced) << program.text();
}

// What nothing with a type leads to cannot be found.
TEST(ChangedTypes, AreNotReadAsTheyWere) {
  const std::string source = std::string("#define HIDDEN\n") + kShop;
  ReplayedProgram program(source);
  VerifyOptions options;
  options.program = program.Rebuild(source, "-O2 -g -DCHANGED");
  for (const char* function : {"Find", "Sell"}) {
    const FrameVerdict verdict = program.Verify(function, options);
    EXPECT_EQ(verdict.verdict, Verdict::kCannotReplay) << program.text();
    EXPECT_THAT(verdict.note, HasSubstr("an untyped pointer in it leads to what may be an object of Order"));
  }
  // A function that leads to no such object is called.
  EXPECT_EQ(program.Verify("Count", options).verdict, Verdict::kReproduced) << program.text();
  options.program = program.Rebuild("// moved\n\n" + source);
  EXPECT_EQ(program.Verify("Sell", options).verdict, Verdict::kReproduced) << program.text();
}

// Without debug information nobody knows.
TEST(ChangedTypes, AreNotTakenForEqualWhereTheyCannotBeCompared) {
  ReplayedProgram program(kShop);
  VerifyOptions options;
  options.program = program.Rebuild(std::string("// moved\n\n") + kShop, "-O2 -g0");
  const FrameVerdict verdict = program.Verify("Sell", options);
  EXPECT_EQ(verdict.verdict, Verdict::kCannotReplay) << program.text();
  EXPECT_THAT(verdict.note, HasSubstr("has no debug information"));
  EXPECT_EQ(program.Verify("Count", options).verdict, Verdict::kReproduced) << program.text();
}

// A function of C keeps its name when its parameters change.
TEST(ChangedTypes, AreParametersToo) {
  const auto source = [](const std::string& parameters) {
    return "#include <cstdio>\nextern \"C\" __attribute__((noinline)) int Show(" + parameters + R"() {
  std::printf("%d", *cell);
  return *cell + 1;
}
)" +
           (parameters.find(',') == std::string::npos
                ? "int main(int argc, char**) { return Show(argc > 4 ? &argc : nullptr); }"
                : "int main(int argc, char**) { return Show(3, argc > 4 ? &argc : nullptr); }");
  };
  ReplayedProgram program(source("int* cell"));
  VerifyOptions options;
  options.program = program.Rebuild(source("int count, int* cell"));
  const FrameVerdict verdict = program.Verify("Show", options);
  EXPECT_EQ(verdict.verdict, Verdict::kCannotReplay) << program.text();
  EXPECT_THAT(verdict.note, HasSubstr("has 2 parameters in this build, had 1"));
}

TEST(ChangedTypes, AreParametersThatChangePlaces) {
  const auto source = [](const std::string& parameters, const std::string& arguments) {
    return "#include <cstdio>\n__attribute__((noinline)) int Show(const int* const* cells, " + parameters + R"() {
  for (int i = 0; i < last; i += step) std::printf("%d", *cells[i]);
  return step;
}
int main(int argc, char**) { const int* const cells[4] = {&argc}; return Show(cells, )" +
           arguments + "); }\n";
  };
  ReplayedProgram program(source("int last, int step", "3, argc"), "-O0 -g");
  VerifyOptions options;
  options.program = program.Rebuild(source("int step, int last", "argc, 3"), "-O0 -g");
  const FrameVerdict verdict = program.Verify("Show", options);
  EXPECT_EQ(verdict.verdict, Verdict::kCannotReplay) << program.text();
  EXPECT_THAT(verdict.note, HasSubstr("has its parameters in another order in this build"));
  EXPECT_EQ(program.Verify("main", options).verdict, Verdict::kReproduced) << program.text();
}

}  // namespace
}  // namespace recrash
