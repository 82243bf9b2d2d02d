#!/usr/bin/env python3
"""Values that a test gives to parts of its arguments: change one, and the call gets it.

Check dies as long as each value is the recorded one. It returns if one of them is the one that the test edits in, and
dies elsewhere if a value is neither. So a value that did not arrive, or arrived damaged, leaves the test red.
"""

import re
import signal

import harness

PROGRAM = """
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>
#define OUTLINE __attribute__((noinline))

enum class Unit { kMetre, kFoot = 5 };
struct Point { short x, y; };
bool operator==(const Point& a, const Point& b) { return a.x == b.x && a.y == b.y; }
struct Base { int level; };
struct Order : Base {
  std::string name;
  std::vector<int> amounts;
  std::optional<long> limit;
  std::array<int, 3> sizes;
  char tag[8];
};
struct Options { float scale; Unit unit; unsigned flag : 3; };
using Names = std::vector<std::string>;
using Pairs = std::vector<std::pair<std::string, double>>;

static int edited = 0;
template <typename T>
static void Look(const char* what, const T& value, const T& recorded, const T& other) {
  if (value == recorded) return;
  if (!(value == other)) { std::printf("%s is neither\\n", what); std::abort(); }
  ++edited;
}

OUTLINE int Check(Order* order, Options options, std::string_view view, const Pairs& pairs, std::vector<Point>& points,
                  std::tuple<int, char>& both, int* count, Names& names) {
  Look("level", order->level, 3, 4);
  Look<std::string>("name", order->name, "bad", "a name that is longer than what was there");
  Look("amounts", order->amounts, {1, 2, 3}, {1, 2, 3, 4, 5, 6, 7, 8});
  Look<std::optional<long>>("limit", order->limit, 40, std::nullopt);
  Look("sizes", order->sizes, {7, 8, 9}, {7, 0, 9});
  Look<std::string>("tag", order->tag, "tag", "other");
  Look("scale", options.scale, 0.1f, 2.5f);
  Look("unit", options.unit, Unit::kFoot, Unit::kMetre);
  Look("flag", static_cast<unsigned>(options.flag), 5u, 2u);
  Look<std::string_view>("view", view, "a view", "another view");
  Look("pairs", pairs, {{"one", 1.5}, {"two", 0.1}}, {{"one", 1.5}});
  Look("points", points, {{1, 2}, {3, 4}}, {{1, 2}, {3, 4}, {5, 6}});
  Look("both", both, std::tuple<int, char>(1, 'q'), std::tuple<int, char>(1, 'r'));
  Look("count", *count, 12, 13);
  Look<Names>("names", names, {"alpha", "a word that is longer than fifteen characters"},
              {"alpha", "short", "a third word, which is long as well"});
  if (!edited) std::abort();
  // What was given belongs to the containers from now on: it is moved, and freed.
  names.push_back("the next one");
  order->amounts.push_back(9);
  order->name += ", and longer still, by far";
  names = Names();
  order->amounts = {};
  return edited;
}

OUTLINE int Run(int n) {
  Order order;
  order.level = 3;
  order.name = "bad";
  order.amounts = {1, 2, 3};
  order.limit = 40;
  order.sizes = {7, 8, 9};
  std::strcpy(order.tag, "tag");
  Options options{0.1f, Unit::kFoot, 5};
  Pairs pairs{{"one", 1.5}, {"two", 0.1}};
  std::vector<Point> points{{1, 2}, {3, 4}};
  std::tuple<int, char> both{n, 'q'};
  int count = 12;
  Names names{"alpha", "a word that is longer than fifteen characters"};
  return Check(&order, options, "a view", pairs, points, both, &count, names) + 1;
}

int main(int argc, char**) { return Run(argc); }
"""

# Path, the value as recrash writes it, and another one.
EDITS = [
    ("order->level", "3", "4"),
    ("order->name", '"bad"', '"a name that is longer than what was there"'),
    ("order->amounts", "{1, 2, 3}", "{1, 2, 3, 4, 5, 6, 7, 8}"),
    ("order->limit", "40", "std::nullopt"),
    ("order->sizes", "{7, 8, 9}", "{7, 0, 9}"),
    ("order->tag", '"tag"', '"other"'),
    ("options.scale", "0.1f", "2.5"),
    ("options.unit", '"kFoot"', '"kMetre"'),
    ("options.flag", "5", "2"),
    ("view", '"a view"', '"another view"'),
    ("*pairs", '{{"one", 1.5}, {"two", 0.1}}', '{{"one", 1.5}}'),
    ("*points", "{{1, 2}, {3, 4}}", "{{1, 2}, {3, 4}, {5, 6}}"),
    ("*both", "{1, 'q'}", "{1, 'r'}"),
    ("*count", "12", "13"),
    ("*names", '{"alpha", "a word that is longer than fifteen characters"}',
     '{"alpha", "short", "a third word, which is long as well"}'),
]

# Statements that are no use, and what the test says of them.
REFUSED = [
    ('frame.Set("order->colour", 1);', "cannot set order->colour: Order has no member `colour` in this build"),
    ('frame.Set("ordre->level", 1);', "cannot set ordre->level: the function has no parameter `ordre`"),
    ('frame.Set("order->level", "three");', "cannot set order->level: its type is int, and a text was given"),
    ('frame.Set("order->level", 3000000000);', "cannot set order->level: 3000000000 does not fit 32 bits of type int"),
    ('frame.Set("options.flag", 8);', "cannot set options.flag: 8 does not fit 3 bits of type unsigned int"),
    ('frame.Set("order->sizes", {1, 2});', "has 3 elements, and 2 were given"),
    ('frame.Set("order->tag", "much too long");', "has no room for 13 characters"),
    ('frame.Set("options.unit", "kMile");', "cannot set options.unit: Unit has no enumerator kMile"),
    ('frame.Set("*points", {{1, 2, 3}});', "Point has 2 members in this build, and 3 were given"),
]


class Literals(harness.Workspace):
    def make_tests(self, flags):
        program = self.compile_text(PROGRAM, flags=flags)
        report = self.crash(program, died_of=signal.SIGABRT)
        self.assert_reproduced(self.reproduce(program, report=report, build=True), "Check")
        source = self.path / "tests/crash_test.cc"
        text = source.read_text()
        test = re.search(r"^TEST\(CrashTest, (?:DISABLED_)?Frame\d+_Check\) \{\n.*?^\}\n", text, re.M | re.S)[0]
        return source, text, test

    def copies(self, test, changed):
        """The test once for each changed statement, under names of their own."""
        out = ""
        for i, (before, after) in enumerate(changed):
            self.assertEqual(test.count(before), 1, f"{before}\n{test}")
            out += "\n" + re.sub(r"TEST\(CrashTest, \w+\)", f"TEST(Edited, Number{i})", test.replace(before, after))
        return out

    def check(self, *flags):
        source, text, test = self.make_tests(flags)
        self.run_tests(expect=1)  # the values are there, and change nothing
        sets = [(f'frame.Set("{path}", {value});', f'frame.Set("{path}", {other});') for path, value, other in EDITS]
        last = sets[0][0]
        refused = [(last, statement) for statement, _ in REFUSED]
        # Every recorded value once more, as a value that is not the one that recrash wrote, and writes nothing new.
        again = [(f'frame.Set("{path}", {value});', f'frame.Set("{path}", recrash::AsRecorded);') for path, value, _ in EDITS]
        source.write_text(text + self.copies(test, sets + refused + again))
        self.run_command("cmake", "--build", "tests/build", timeout=600)
        ran = self.run_tests("--gtest_filter=Edited.*", expect=1).stdout
        outcome = dict((int(n), word) for word, n in re.findall(r"\[ +(OK|FAILED|SKIPPED) +\] Edited\.Number(\d+)", ran))
        for i, (path, _, other) in enumerate(EDITS):
            self.assertEqual(outcome[i], "OK", f"{path} = {other}\n{ran}")
        for i, (statement, why) in enumerate(REFUSED, len(sets)):
            self.assertEqual(outcome[i], "SKIPPED", f"{statement}\n{ran}")
            self.assertIn(why, ran)
        for i in range(len(again)):
            self.assertEqual(outcome[len(sets) + len(refused) + i], "FAILED", f"{again[i]}\n{ran}")

    def test_of_optimised_code(self):
        self.check("-O2", "-g")

    def test_of_code_that_is_not(self):
        self.check("-O0", "-g")


if __name__ == "__main__":
    harness.main()
