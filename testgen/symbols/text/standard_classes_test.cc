// Classes of both standard libraries, as a program that crashed had them. What people see is the same for both.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "testgen/symbols/testing_crashed_process.h"
#include "testgen/symbols/text/standard_class.h"

namespace recrash {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

constexpr char kProgram[] = R"(
#include <any>
#include <array>
#include <atomic>
#include <bitset>
#include <chrono>
#include <cstring>
#include <deque>
#include <filesystem>
#include <forward_list>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <span>
#include <stack>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>
namespace app {
struct Point { int x = 3; double y = -0.5; };
enum class Kind : unsigned char { kNumber, kText };
struct Token { Kind kind; union { long number; const char* text; }; };
struct Node { int key; std::unique_ptr<Node> left; std::shared_ptr<Point> point; };
struct Stack : std::vector<int> { int limit = 9; };
struct Deleter { void operator()(Point*) const {} };
}
using namespace app;
int Twice(int n) { return 2 * n; }
struct All {
  std::string small = "small", large = std::string(30, 'x'), empty;
  std::vector<int> numbers{1, 2, 3};
  std::vector<std::string> texts{"a", "b"};
  std::vector<std::vector<int>> nested{{1}, {2, 3}};
  std::vector<bool> bits{true, false, true};
  std::span<int> span{numbers};
  std::span<int, 2> fixed{numbers.data(), 2};
  std::array<int, 3> array{7, 8, 9};
  std::list<int> list{4, 5};
  std::list<char> letters{'a', 'b'};
  std::forward_list<std::string> forward{"p", "q"};
  std::map<std::string, int> ages{{"ada", 36}, {"ken", 83}};
  std::map<int, char> tight{{1, 'a'}, {2, 'b'}, {3, 'c'}};
  std::set<int> set{3, 1, 2};
  std::multimap<int, int> multi{{1, 2}, {1, 3}};
  std::unordered_map<int, std::string> hash{{5, "five"}};
  std::unordered_set<std::string> words{"one"};
  std::deque<int> deque;
  std::queue<int> queue;
  std::stack<int> stack;
  std::priority_queue<int> heap;
  std::unique_ptr<Point> unique = std::make_unique<Point>();
  std::unique_ptr<Point, void (*)(Point*)> odd{new Point, [](Point*) {}};
  std::unique_ptr<Point, Deleter> custom{new Point};
  std::unique_ptr<int> none;
  std::shared_ptr<Point> shared = std::make_shared<Point>();
  std::shared_ptr<int> counted = std::make_shared<int>(4);
  std::weak_ptr<Point> weak = shared, gone = std::make_shared<Point>();
  std::reference_wrapper<int> reference{array[1]};
  std::pair<int, std::string> pair{1, "x"};
  std::tuple<int, std::string, Deleter, char> tuple{1, "x", {}, 'c'};
  std::optional<Point> some = Point(), nothing;
  std::optional<int> seven = 7;
  std::variant<int, std::string, Point> choice = "text";
  std::any any_int = 5, any_none;
  std::function<int(int)> plain = Twice, lambda = [](int n) { return n; }, empty_function;
  std::chrono::milliseconds wait{250};
  std::chrono::duration<long, std::ratio<1, 30>> odd_time{4};
  std::chrono::system_clock::time_point when{std::chrono::system_clock::duration(12)};
  std::filesystem::path path = "/tmp/a";
  std::atomic<int> atomic{6};
  std::atomic<Point*> atomic_pointer{nullptr};
  std::bitset<12> flags{0x805};
  std::bitset<100> many{3};
  std::string_view view = "view";
  Token token{Kind::kText, {.text = "t"}}, other{Kind::kNumber, {.number = 5}};
  Node tree{1, std::make_unique<Node>(Node{2, nullptr, nullptr}), nullptr};
  Stack derived;
  int Point::*member = &Point::x;
  int (*function)(int) = Twice;
  std::vector<int> broken, torn;
  std::string wild = "wild";
  std::map<int, int> lost;
  std::optional<int> overwritten = 1;
  std::shared_ptr<int> dangling = std::make_shared<int>(1);
  std::list<int> cyclic{1, 2, 3};
};
__attribute__((noinline)) int Take(const All& all) { return *(volatile int*)8; }
template <typename T> void Overwrite(T& object, int word, unsigned long value) {
  std::memcpy((char*)&object + 8 * word, &value, 8);
}
int main() {
  static All all;
  for (int i = 0; i < 600; ++i) all.deque.push_back(i);
  for (int i = 0; i < 597; ++i) all.deque.pop_front();
  all.queue.push(1); all.stack.push(2); all.heap.push(3);
  all.derived.push_back(1);
  Overwrite(all.broken, 0, 0x1000); Overwrite(all.broken, 1, 0x10);
  Overwrite(all.torn, 0, 0x5000); Overwrite(all.torn, 1, 0x5010); Overwrite(all.torn, 2, 0x5010);
  Overwrite(all.wild, 1, 1ul << 50); Overwrite(all.wild, 0, 1);
  memset((char*)&all.lost + sizeof all.lost - 8, 0, 8);
  for (int i = 0; i < 3; ++i) all.lost[i] = i;
  Overwrite(all.lost, sizeof all.lost / 8 - 1, 77);
  memset((char*)&all.overwritten + 4, 0x7f, 1);
  Overwrite(all.dangling, 1, 0x6660);
  auto* first = &all.cyclic.front();
  unsigned long self = (unsigned long)first - 16;
  memcpy((char*)first - 16, &self, 8);
  memcpy((char*)first - 8, &self, 8);
  return Take(all);
}
)";

// The text of each member, as its line has it.
class Standard : public ::testing::TestWithParam<const char*> {
 protected:
  static std::string Of(const std::string& member) {
    static std::map<std::string, std::map<std::string, std::string>> known;
    auto& texts = known[GetParam()];
    if (texts.empty()) texts = Read();
    return texts.contains(member) ? texts[member] : "not shown";
  }

 private:
  static std::map<std::string, std::string> Read() {
    const Fixture fixture(kProgram, std::string("-O0 -g -std=c++20 -w ") + GetParam());
    const Report report = fixture.Crash();
    const auto symbols = Symbols::Open(report, {});
    const Backtrace backtrace = MustRead(report, *symbols);
    const Parameter& all = ParameterOf(FrameOf(backtrace, "Take("), "all");
    DebugInfo debug(*symbols->modules().program()->dwarf);
    const ReportMemory memory(report, &symbols->modules());
    AddressReader addresses(memory, symbols->modules());
    ValueBuilder builder({memory, symbols->modules(), addresses, debug, {}}, 5);
    const Shown shown = builder.At(*debug.TypeNamed("All"), {ValueOf(all)}, {});
    std::map<std::string, std::string> texts;
    for (const ShownMember& member : shown.members)
      texts[member.label.substr(0, member.label.find(' '))] = OneLine(member.value, 400);
    return texts;
  }
};

std::string LibraryOf(const ::testing::TestParamInfo<const char*>& flags) {
  return *flags.param == 0 ? "libstdcxx" : "libcxx";
}

std::vector<const char*> Libraries() {
  if (std::filesystem::exists("/usr/lib/llvm-19/include/c++/v1/string")) return {"", "-stdlib=libc++"};
  return {""};
}

INSTANTIATE_TEST_SUITE_P(Libraries, Standard, ::testing::ValuesIn(Libraries()), LibraryOf);

TEST_P(Standard, Texts) {
  EXPECT_EQ(Of("small"), "\"small\"");
  EXPECT_EQ(Of("large"), '"' + std::string(30, 'x') + '"');
  EXPECT_EQ(Of("empty"), "\"\"");
  EXPECT_EQ(Of("view"), "\"view\"");
  EXPECT_EQ(Of("path"), "\"/tmp/a\"");
}

TEST_P(Standard, Arrays) {
  EXPECT_EQ(Of("numbers"), "of 3 {1, 2, 3}");
  EXPECT_EQ(Of("texts"), "of 2 {\"a\", \"b\"}");
  EXPECT_EQ(Of("nested"), "of 2 {of 1 {1}, of 2 {2, 3}}");
  EXPECT_EQ(Of("bits"), "of 3 101");
  EXPECT_EQ(Of("span"), "of 3 {1, 2, 3}");
  EXPECT_EQ(Of("fixed"), "of 2 {1, 2}");
  EXPECT_EQ(Of("array"), "{7, 8, 9}");
  EXPECT_EQ(Of("deque"), "of 3 {597, 598, 599}");
  EXPECT_EQ(Of("queue"), "of 1 {1}");
  EXPECT_EQ(Of("stack"), "of 1 {2}");
  EXPECT_EQ(Of("heap"), "of 1 {3}");
  EXPECT_EQ(Of("flags"), "100000000101");
  EXPECT_EQ(Of("many"), "bits {0, 1} of 100");
  EXPECT_EQ(Of("derived"), "{of 1 {1}, limit = 9}");
}

TEST_P(Standard, Nodes) {
  EXPECT_EQ(Of("list"), "of 2 {4, 5}");
  EXPECT_EQ(Of("letters"), "of 2 {'a', 'b'}");
  EXPECT_EQ(Of("forward"), "of 2 {\"p\", \"q\"}");
  EXPECT_EQ(Of("ages"), "of 2 {\"ada\": 36, \"ken\": 83}");
  EXPECT_EQ(Of("tight"), "of 3 {1: 'a', 2: 'b', 3: 'c'}");
  EXPECT_EQ(Of("set"), "of 3 {1, 2, 3}");
  EXPECT_EQ(Of("multi"), "of 2 {1: 2, 1: 3}");
  EXPECT_EQ(Of("hash"), "of 1 {5: \"five\"}");
  EXPECT_EQ(Of("words"), "of 1 {\"one\"}");
}

TEST_P(Standard, Pointers) {
  EXPECT_EQ(Of("unique"), "&{x = 3, y = -0.5}");
  EXPECT_EQ(Of("odd"), "&{x = 3, y = -0.5}");  // the deleter's address lies before the object's
  EXPECT_EQ(Of("custom"), "&{x = 3, y = -0.5}");
  EXPECT_EQ(Of("none"), "nullptr");
  EXPECT_EQ(Of("shared"), "&{x = 3, y = -0.5}");
  EXPECT_EQ(Of("counted"), "&4");
  EXPECT_EQ(Of("weak"), "&{x = 3, y = -0.5}");
  EXPECT_EQ(Of("gone"), "expired");
  EXPECT_EQ(Of("reference"), "&8");
  EXPECT_EQ(Of("tree"), "{key = 1, left = &{key = 2, left = nullptr, point = nullptr}, point = nullptr}");
  EXPECT_EQ(Of("member"), "&app::Point::x");
  EXPECT_EQ(Of("function"), "&Twice(int)");
}

TEST_P(Standard, OneOfSeveralAndNone) {
  EXPECT_EQ(Of("pair"), "{first = 1, second = \"x\"}");
  EXPECT_THAT(Of("tuple"), MatchesRegex("\\{1, \"x\", \\{.*\\}, 'c'\\}"));
  EXPECT_EQ(Of("some"), "{x = 3, y = -0.5}");
  EXPECT_EQ(Of("nothing"), "std::nullopt");
  EXPECT_EQ(Of("seven"), "7");
  EXPECT_EQ(Of("choice"), "std::string \"text\"");
  EXPECT_EQ(Of("any_int"), "std::any of int");
  EXPECT_EQ(Of("any_none"), "std::any without a value");
  EXPECT_EQ(Of("plain"), "std::function of &Twice(int)");
  EXPECT_THAT(Of("lambda"), StartsWith("std::function of All::"));
  EXPECT_EQ(Of("empty_function"), "std::function without a target");
  EXPECT_EQ(Of("wait"), "250 ms");
  EXPECT_EQ(Of("odd_time"), "4 * 1/30 s");
  EXPECT_THAT(Of("when"), MatchesRegex("12 (ns|us) since the clock's epoch"));
  EXPECT_EQ(Of("atomic"), "6");
  EXPECT_EQ(Of("atomic_pointer"), "nullptr");
}

// The enumerator beside a union names one of its members.
TEST_P(Standard, UnionsByWhatStandsBeside) {
  EXPECT_EQ(Of("token"), "{kind = app::Kind::kText, {text = \"t\"}}");
  EXPECT_EQ(Of("other"), "{kind = app::Kind::kNumber, {number = 5}}");
}

// What was never made, or was overwritten, is not shown as if it were a container.
TEST_P(Standard, WhatIsNotPlausibleSaysSo) {
  EXPECT_THAT(Of("broken"), StartsWith("not plausible: begin 0x1000, end 0x10, capacity until "));
  EXPECT_EQ(Of("torn"), "not plausible: begin 0x5000, end 0x5010, capacity until 0x5010");
  EXPECT_THAT(Of("wild"), StartsWith("not plausible: length 1125899906842624"));
  EXPECT_EQ(Of("lost"), "of 77, but 3 found {0: 0, 1: 1, 2: 2}");
  EXPECT_EQ(Of("overwritten"), "not plausible: engaged is 127");
  EXPECT_EQ(Of("dangling"), "not plausible: its control block would be at 0x6660");
  EXPECT_THAT(Of("cyclic"), StartsWith("of 3, but a loop {1"));
}

TEST(ArgumentsAfter, SplitsAtTheOutermostCommas) {
  EXPECT_THAT(ArgumentsAfter("a::_Function_handler<int (int, char), f<1, 2>::{lambda(int, int)#1}>::_M_manager(x)",
                             "_Function_handler"),
              ::testing::ElementsAre("int (int, char)", "f<1, 2>::{lambda(int, int)#1}"));
  EXPECT_THAT(ArgumentsAfter("span<int, 4>", "spanned"), ::testing::IsEmpty());
  EXPECT_THAT(ArgumentsAfter("cut<int", "cut"), ::testing::IsEmpty());
}

}  // namespace
}  // namespace recrash
