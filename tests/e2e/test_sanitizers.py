"""Tests of a plain build, run on builds of the same sources that have a sanitizer or other checks."""

import signal

import harness


class Sanitizers(harness.Workspace):
    """One program, its crash and its tests; and the ways to build it anew."""

    CLANG = ("recrash-clang++",)
    GCC = ("g++",)
    ADDRESS = ("-O1", "-g", "-fsanitize=address")
    UNDEFINED = ("-O1", "-g", "-fsanitize=undefined")

    def make_tests(self, text, died_of=signal.SIGSEGV, flags=("-O2", "-g"), options=()):
        self.program = self.compile_text(text, flags=flags)
        self.report = self.crash(self.program, died_of=died_of)
        return self.reproduce(self.program, *options, report=self.report, build=True)

    def build(self, compiler, *flags):
        """The same sources, in the way that is given."""
        self.run_command(*compiler, *flags, "program.cc", "-o", "another")
        return self.path / "another"

    def said(self, program, expect=1, disabled=True):
        return self.run_tests("--program", program, expect=expect, disabled=disabled).stdout


class Address(Sanitizers):
    NULL = """
__attribute__((noinline)) int Read(const int* target) { return *target + 1; }
int main() { return Read(nullptr) + 1; }
"""

    def test_a_report_of_such_a_build_is_refused_in_one_sentence(self):
        program = self.compile_text(self.NULL, output="sanitized", flags=self.ADDRESS)
        report = self.crash(program, died_of=signal.SIGSEGV, env={"ASAN_OPTIONS": "handle_segv=0"})
        refused = self.run_command("recrash", "reproduce", report, "--program", program, "--no-build", "-o", "tests", expect=4)
        self.assertIn("sanitized: needed a build without AddressSanitizer, found one with it", refused.stderr)
        self.assertIn("build without -fsanitize=address", refused.stderr)
        self.assertNotIn("ASAN_OPTIONS", refused.stderr)

    def test_tests_run_where_the_runtime_is_in_the_program_and_where_it_is_a_library(self):
        self.make_tests(self.NULL)
        for compiler in (self.CLANG, self.GCC):
            with self.subTest(compiler=compiler):
                said = self.said(self.build(compiler, *self.ADDRESS))
                self.assertEqual(said.count("happens again"), 2, said)

    FREED = """
#include <cstdlib>
#include <cstring>
struct Font { const char* const* glyphs; };
__attribute__((noinline)) size_t Width(Font* font) { return std::strlen(font->glyphs[0]); }
int main() {
  static const char* const glyphs[] = {"a"};
  auto* font = static_cast<Font*>(std::malloc(sizeof(Font)));
  font->glyphs = glyphs;
#ifndef FIXED
  std::free(font);
  std::memset(std::malloc(sizeof(Font)), 1, sizeof(Font));
#endif
  return Width(font) != 1;
}
"""

    def test_what_it_finds_at_the_recorded_place_is_the_recorded_failure(self):
        self.make_tests(self.FREED, options=("--rerun",), flags=("-O0", "-g"))
        for compiler in (self.CLANG, self.GCC):
            with self.subTest(compiler=compiler):
                said = self.said(self.build(compiler, *self.ADDRESS), disabled=False)
                self.assertRegex(said, r"happens again when frame \d+ \(main\)")
                self.assertIn("now: AddressSanitizer: heap-use-after-free in Width at program.cc:5\n", said)
                self.said(self.build(compiler, *self.ADDRESS, "-DFIXED"), expect=0, disabled=False)

    THREADS = """
#include <future>
__attribute__((noinline)) int Half(int n) { return n * 2; }
__attribute__((noinline)) int Sum(const int* base) {
  std::future<int> one = std::async(std::launch::async, Half, 1), two = std::async(std::launch::async, Half, 2);
#ifdef FIXED
  static const int kNone = 0;
  if (!base) base = &kNone;
#endif
  return one.get() + two.get() + *base;
}
int main() { return Sum(nullptr) != 6; }
"""

    # The runtime lists threads, and cleans up behind each. Our agent, which did so in the build that crashed, is another
    # one in the first build, and not in the second.
    def test_threads_of_the_call_start_and_end(self):
        self.make_tests(self.THREADS, options=("--rerun",), flags=("-O0", "-g", "-pthread"))
        for compiler in (self.CLANG, self.GCC):
            with self.subTest(compiler=compiler):
                said = self.said(self.build(compiler, *self.ADDRESS, "-pthread"), disabled=False)
                self.assertRegex(said, r"happens again when frame \d+ \(main\)")
                self.said(self.build(compiler, *self.ADDRESS, "-pthread", "-DFIXED"), expect=0, disabled=False)


class Others(Sanitizers):
    """Sanitizers whose builds cannot be replayed: one sentence says so, and what to do."""

    BUILDS = (("thread", "ThreadSanitizer"), ("memory", "MemorySanitizer"))

    def test_a_report_of_such_a_build_is_refused(self):
        for option, name in self.BUILDS:
            with self.subTest(option=option):
                program = self.compile_text(Address.NULL, output=option, flags=("-O1", "-g", f"-fsanitize={option}"))
                # ThreadSanitizer ends the process in its own way, once the report is written.
                self.run_command(program, expect=None, env={"MSAN_OPTIONS": "handle_segv=0"})
                [report] = self.reports.glob(f"{option}-*.rcr")
                refused = self.run_command("recrash", "reproduce", report, "--program", program, "--no-build", "-o", "tests",
                                           expect=4)
                self.assertIn(f"{option}: needed a build without {name}, found one with it", refused.stderr)
                self.assertIn(f"build without -fsanitize={option}", refused.stderr)

    def test_tests_are_refused_there(self):
        self.make_tests(Address.NULL)
        for option, name in self.BUILDS:
            with self.subTest(option=option):
                program = self.build(self.CLANG, "-O1", "-g", f"-fsanitize={option}")
                run = self.run_tests("--program", program, expect=4)
                self.assertIn(f"needed a build without {name}, found one with it", run.stderr)

    def test_a_report_of_a_build_with_ubsan_is_reproduced(self):
        program = self.compile_text(Undefined.TEXT, flags=self.UNDEFINED)
        report = self.crash(program, died_of=signal.SIGSEGV, env={"UBSAN_OPTIONS": "handle_segv=0"})
        self.assert_reproduced(self.reproduce(program, report=report), "Total", "main")


class Undefined(Sanitizers):
    TEXT = """
#include <cstdio>
struct Item { int price; int Price() const { return price; } };
__attribute__((noinline)) int Total(const Item* item, int count) { return item->Price() * count; }
int main(int argc, char** argv) {
  Item book{7};
#ifdef FIXED
  const Item* found = &book;
#else
  const Item* found = argc > 5 ? &book : nullptr;
#endif
  std::printf("%d\\n", Total(found, argc));
}
"""

    def test_what_it_reports_at_the_recorded_place_is_the_recorded_failure(self):
        self.make_tests(self.TEXT, options=("--rerun",))
        for compiler in (self.CLANG, self.GCC):
            for recovery in ("-fsanitize-recover=all", "-fno-sanitize-recover=all"):
                with self.subTest(compiler=compiler, recovery=recovery):
                    said = self.said(self.build(compiler, *self.UNDEFINED, recovery), disabled=False)
                    self.assertRegex(said, r"happens again when frame \d+ \(main\)")
                    self.assertRegex(said, r"now: UndefinedBehaviorSanitizer: member call on null pointer of type "
                                           r"'(const struct )?Item' in Total at program.cc:4\n")
                    self.said(self.build(compiler, *self.UNDEFINED, recovery, "-DFIXED"), expect=0, disabled=False)

    def test_what_it_reports_elsewhere_is_another_failure(self):
        self.make_tests(self.TEXT)
        text = self.TEXT.replace("int main(", "__attribute__((noinline)) int Sum(int a, int b) { return a + b; }\nint main(") \
            .replace("Item book{7};", "Item book{Sum(argc, 2147483647)};")
        (self.path / "program.cc").write_text(text)
        said = self.said(self.build(self.CLANG, *self.UNDEFINED, "-DFIXED"), disabled=False)
        self.assertRegex(said, "UndefinedBehaviorSanitizer: signed integer overflow: .* in Sum at program.cc:5: fails otherwise")


class Assertions(Sanitizers):
    TEXT = """
#include <cstdio>
#include <vector>
__attribute__((noinline)) long Take(const std::vector<long>& numbers, size_t at) { return *reinterpret_cast<int*>(numbers[at]); }
int main(int argc, char**) {
  int here = 0;
  std::vector<long> numbers(4, reinterpret_cast<long>(&here));
#ifdef FIXED
  size_t at = argc;
#else
  size_t at = argc << 20;
#endif
  std::printf("%ld\\n", Take(numbers, at));
}
"""

    def test_an_assertion_of_the_library_tells_what_it_says(self):
        self.make_tests(self.TEXT)
        for compiler in (self.CLANG, self.GCC):
            with self.subTest(compiler=compiler):
                flags = ("-O1", "-g", "-D_GLIBCXX_ASSERTIONS")
                said = self.said(self.build(compiler, *flags), disabled=False)
                self.assertRegex(said, r"happens again when frame \d+ \(main\)")
                self.assertIn("now: libstdc++: Assertion '__n < this->size()' failed in Take at program.cc:", said)
                self.said(self.build(compiler, *flags, "-DFIXED"), expect=0, disabled=False)


class OtherLibraries(Sanitizers):
    """Containers that lie otherwise: libstdc++'s debugging mode, and libc++."""

    TEXT = """
#include <cstdio>
#include <map>
#include <string>
#include <vector>
struct Shop { std::vector<std::string> names; std::map<std::string, int> stock; int* till = nullptr; };
int g_till = 4;
int* g_open = nullptr;
std::map<int, std::string> g_names{{1, "one"}};
__attribute__((noinline)) int Alone() { return static_cast<int>(g_names.begin()->second.size()) + *g_open; }
__attribute__((noinline)) int ByReference(const std::vector<int>& numbers) { return numbers[0] + Alone(); }
__attribute__((noinline)) int ByPointer(Shop* shop) {
  return static_cast<int>(shop->names.size() + shop->stock.size()) + ByReference({1, 2});
}
__attribute__((noinline)) int Behind(void* data) { return ByPointer(static_cast<Shop*>(data)); }
int main() {
#ifdef FIXED
  g_open = &g_till;
#endif
  Shop shop;
  shop.names = {"a", "b"};
  shop.stock["x"] = 3;
  std::printf("%d\\n", Behind(&shop));
}
"""
    BUILDS = ((Sanitizers.GCC, ("-D_GLIBCXX_DEBUG",)), (Sanitizers.CLANG, ("-stdlib=libc++",)))

    def test_no_test_decides_anything_there(self):
        result = self.make_tests(self.TEXT, options=("--rerun",), flags=("-O0", "-g"))
        self.assert_reproduced(result, "Alone", "ByReference", "ByPointer", "Behind", "main")
        for compiler, flags in self.BUILDS:
            for fixed in ((), ("-DFIXED",)):
                with self.subTest(flags=flags, fixed=fixed):
                    said = self.said(self.build(compiler, "-O1", "-g", *flags, *fixed))
                    self.assertIn("no test was decided: 5 of 5 were skipped", said)
                    self.assertRegex(said, r"\(Alone\(\)\) says nothing about the bug here: std::map<int, std::string> has another "
                                           "layout in this build: it is of another C\\+\\+ library, or with other options of it")


if __name__ == "__main__":
    harness.main()
