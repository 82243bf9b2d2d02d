// Values of a crashed program.
#include "testgen/symbols/text/render.h"

#include <gtest/gtest.h>

#include "testgen/symbols/testing_crashed_process.h"

namespace recrash {
namespace {

constexpr char kProgram[] = R"(
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>
namespace app {
enum class Kind { kLeaf, kInner };
enum Flags { kRead = 1, kWrite = 2, kRun = 4 };
struct Point { int x = 3; double y = -0.5; };
struct Shape { virtual ~Shape() {} int id = 7; };
struct Other { virtual ~Other() {} int other = 1; };
struct Circle : Other, Shape { Point center; float radius = 1.5f; };
struct Bits { unsigned low : 3; int high : 5; bool on : 1; };
struct Loop { Loop* next; int n = 1; };
struct Long { char text[8]; int numbers[20]; const char* name; std::string s; std::vector<std::string> all; };
union Either { int i; float f; };
}
using namespace app;
#define CASE(number, type) __attribute__((noinline)) int Case##number(type value, int* bad) { return *bad + sizeof(value); }
CASE(1, int) CASE(2, bool) CASE(3, char) CASE(4, unsigned char) CASE(5, double) CASE(6, Kind) CASE(7, Flags)
CASE(8, const char*) CASE(9, Point) CASE(10, const Point&) CASE(11, Shape*) CASE(12, std::string)
CASE(13, const std::vector<int>&) CASE(14, std::unique_ptr<Point>) CASE(15, std::shared_ptr<Point>)
CASE(16, Bits) CASE(17, Loop*) CASE(18, const Long&) CASE(19, int*) CASE(20, Either) CASE(21, std::string_view)
typedef std::map<int, int> Map;
typedef std::unordered_map<int, int> Hash;
CASE(22, const Map&) CASE(23, const Hash&) CASE(24, const std::list<int>&) CASE(25, __int128) CASE(26, char16_t)
typedef int (*Function)(int);
typedef std::variant<long, std::string> Choice;
CASE(27, Function) CASE(28, std::nullptr_t) CASE(29, long double) CASE(30, void*) CASE(31, const std::string*)
CASE(32, const Point*) CASE(33, const Choice&) CASE(34, const Choice&) CASE(35, std::optional<int>)
CASE(36, std::optional<int>)
int Twice(int n) { return 2 * n; }
int Run(int which) {
  int* bad = nullptr;
  Loop loop; loop.next = &loop;
  Circle circle;
  static Long l{"seven", {1, 2, 3}, "name\n", std::string(100, 'x'), {"a", "b"}};
  switch (which) {
    case 1: return Case1(-5, bad);
    case 2: return Case2(true, bad);
    case 3: return Case3('\n', bad);
    case 4: return Case4(200, bad);
    case 5: return Case5(3, bad);
    case 6: return Case6(Kind::kInner, bad);
    case 7: return Case7(Flags(kRead | kRun), bad);
    case 8: return Case8("say \"hi\"\n", bad);
    case 9: return Case9({}, bad);
    case 10: return Case10(Point{1, 1e300}, bad);
    case 11: return Case11(&circle, bad);
    case 12: return Case12("text\x01", bad);
    case 13: return Case13({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, bad);
    case 14: return Case14(std::make_unique<Point>(), bad);
    case 15: return Case15(nullptr, bad);
    case 16: return Case16({5, -3, true}, bad);
    case 17: return Case17(&loop, bad);
    case 18: return Case18(l, bad);
    case 19: return Case19((int*)0x10, bad);
    case 20: return Case20({1}, bad);
    case 21: return Case21("view", bad);
    case 22: return Case22({{1, 2}, {3, 4}}, bad);
    case 23: return Case23({{1, 2}}, bad);
    case 24: return Case24({1, 2, 3}, bad);
    case 25: return Case25(-((__int128)1 << 100), bad);
    case 26: return Case26(u'a', bad);
    case 27: return Case27(Twice, bad);
    case 28: return Case28(nullptr, bad);
    case 29: return Case29(2.5L, bad);
    case 30: return Case30((void*)0x1234, bad);
    case 31: return Case31((std::string*)0x123456789000, bad);
    case 33: return Case33(5L, bad);
    case 34: return Case34("five", bad);
    case 35: return Case35(6, bad);
    case 36: return Case36({}, bad);
    default: return Case32(nullptr, bad);
  }
}
int main(int argc, char** argv) { return Run(argc > 1 ? std::stoi(argv[1]) : 0) + 1; }
)";

class Rendered : public testing::Test {
 protected:
  static void SetUpTestSuite() { fixture_ = new Fixture(kProgram, "-O0 -g -std=c++17 -w"); }
  static void TearDownTestSuite() { delete fixture_; }
  static Parameter Case(int number) {
    const Backtrace backtrace = MustRead(fixture_->Crash({std::to_string(number)}));
    return ParameterOf(FrameOf(backtrace, "Case" + std::to_string(number) + "("), "value");
  }
  static std::string Text(int number) { return Case(number).rendered; }

 private:
  static Fixture* fixture_;
};

Fixture* Rendered::fixture_ = nullptr;

TEST_F(Rendered, Scalars) {
  EXPECT_EQ(Text(1), "-5");
  EXPECT_EQ(Text(2), "true");
  EXPECT_EQ(Text(3), "'\\n'");
  EXPECT_EQ(Text(4), "200");
  EXPECT_EQ(Text(5), "3.0");
  EXPECT_EQ(Text(6), "app::Kind::kInner");
  EXPECT_EQ(Text(7), "app::kRead | app::kRun");
  EXPECT_EQ(Text(25), "-1267650600228229401496703205376");
  EXPECT_EQ(Text(26), "'a'");
  EXPECT_EQ(Text(29), "2.5");
}

TEST_F(Rendered, Pointers) {
  EXPECT_EQ(Text(8), "\"say \\\"hi\\\"\\n\"");
  EXPECT_EQ(Text(19), "0x10, near null");
  EXPECT_EQ(Text(27), "&Twice(int)");
  EXPECT_EQ(Text(28), "nullptr");
  EXPECT_EQ(Text(30), "0x1234, not mapped");
  EXPECT_EQ(Text(31), "0x123456789000, not mapped");
  EXPECT_EQ(Text(32), "nullptr");
}

TEST_F(Rendered, Classes) {
  EXPECT_EQ(Text(9), "app::Point {x = 3, y = -0.5}");
  EXPECT_EQ(Text(10), "app::Point {x = 1, y = 1e+300}");
  EXPECT_EQ(Text(16), "app::Bits {low = 5, high = -3, on = true}");
  EXPECT_EQ(Text(20), "app::Either {i = 1, f = 1e-45}");
}

// The pointer is to the second base: the vtable names the whole object and how far before it starts.
TEST_F(Rendered, TheObjectThatItReallyIs) {
  EXPECT_EQ(Text(11), "app::Circle {other = 1, id = 7, center = {x = 3, y = -0.5}, radius = 1.5}");
}

TEST_F(Rendered, TheStandardLibrary) {
  EXPECT_EQ(Text(12), "\"text\\x01\"");
  EXPECT_EQ(Text(13), "std::vector<int> of 10 {1, 2, 3, 4, 5, 6, 7, 8, …}");
  EXPECT_EQ(Text(14), "app::Point {x = 3, y = -0.5}");
  EXPECT_EQ(Text(15), "nullptr");
  EXPECT_EQ(Text(21), "\"view\"");
  EXPECT_EQ(Text(22), "std::map<int, int> of 2 {1: 2, 3: 4}");
  EXPECT_EQ(Text(23), "std::unordered_map<int, int> of 1 {1: 2}");
  EXPECT_EQ(Text(24), "std::list<int> of 3 {1, 2, 3}");
  EXPECT_EQ(Text(33), "std::variant<long, std::string>: long 5");
  EXPECT_EQ(Text(34), "std::variant<long, std::string>: std::string \"five\"");
  EXPECT_EQ(Text(35), "6");
  EXPECT_EQ(Text(36), "std::nullopt");
}

// What one line has no room for is on several: no member is cut for the sake of another one.
TEST_F(Rendered, OverSeveralLines) {
  EXPECT_EQ(Text(18), "app::Long {text = \"seven\", numbers = {…}, name = \"name\\n\", …}");
  EXPECT_EQ(Case(18).lines,
            (std::vector<std::string>{"app::Long {", "  text = \"seven\",", "  numbers = {1, 2, 3, 0, 0, 0, 0, 0, …},",
                                      "  name = \"name\\n\",", "  s = \"" + std::string(60, 'x') + "…\",",
                                      "  all = of 2 {\"a\", \"b\"}", "}"}));
}

TEST_F(Rendered, WithoutEnd) {
  const std::string loop = Text(17);
  EXPECT_TRUE(loop.starts_with("app::Loop {next = 0x")) << loop;
  EXPECT_TRUE(loop.ends_with(", shown above, n = 1}")) << loop;
}

TEST_F(Rendered, TypesAreSpelledOut) {
  EXPECT_EQ(Case(8).type.name, "const char*");
  EXPECT_EQ(Case(10).type.name, "const app::Point&");
  EXPECT_EQ(Case(13).type.name, "const std::vector<int>&");
  EXPECT_EQ(Case(14).type.name, "std::unique_ptr<app::Point>");
  EXPECT_EQ(Case(22).type.name, "const Map&");
  const Type flags = Case(7).type;
  EXPECT_EQ(flags.kind, TypeKind::kEnum);
  ASSERT_EQ(flags.enumerators.size(), 3u);
  EXPECT_EQ(flags.enumerators[2].name, "kRun");
  EXPECT_EQ(flags.enumerators[2].value, 4);
}

TEST(Spelling, OfEveryKindOfType) {
  const Fixture fixture(R"(
struct S { int f(char) const; };
template <typename T> struct Box { T t; };
typedef int Number;
namespace { struct Hidden { int h; }; }
int Spell(int (*function)(char, const S&), int (*array)[4], const int* const* deep, S&& moved, int (S::*method)(char) const,
          int S::*member, volatile unsigned long long wide, Box<const char*> box, const Number number, void (*none)(),
          int (&reference)[2], Hidden hidden, const void* nothing, void* const fixed, ...) {
  return *(volatile int*)8 + (function != nullptr);
}
int main() {
  int array[4]{}, two[2]{};
  return Spell(nullptr, &array, nullptr, S(), nullptr, nullptr, 1, {"x"}, 2, nullptr, two, {1}, nullptr, nullptr, 3);
}
)",
                        "-O0 -g -w");
  const Backtrace backtrace = MustRead(fixture.Crash());
  const Frame& frame = FrameOf(backtrace, "Spell(");
  const auto spelled = [&](const char* name) { return ParameterOf(frame, name).type.name; };
  EXPECT_EQ(spelled("function"), "int (*)(char, const S&)");
  EXPECT_EQ(spelled("array"), "int (*)[4]");
  EXPECT_EQ(spelled("deep"), "const int* const*");
  EXPECT_EQ(spelled("moved"), "S&&");
  EXPECT_EQ(spelled("method"), "int (S::*)(char) const");
  EXPECT_EQ(spelled("member"), "int S::*");
  EXPECT_EQ(spelled("wide"), "volatile unsigned long long");
  EXPECT_EQ(spelled("box"), "Box<const char *>");
  EXPECT_EQ(spelled("number"), "const Number");
  EXPECT_EQ(spelled("none"), "void (*)()");
  EXPECT_EQ(spelled("reference"), "int (&)[2]");
  EXPECT_EQ(spelled("hidden"), "(anonymous namespace)::Hidden");
  EXPECT_EQ(spelled("nothing"), "const void*");
  EXPECT_EQ(spelled("fixed"), "void* const");
  EXPECT_TRUE(ParameterOf(frame, "number").type.is_const);
  EXPECT_EQ(ParameterOf(frame, "number").type.kind, TypeKind::kSigned);
}

}  // namespace
}  // namespace recrash
