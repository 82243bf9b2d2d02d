#!/usr/bin/env python3
"""Tests that were kept meet builds by another compiler, or at another level of optimisation."""

import json
import re
import signal

import harness

# With --rerun the tests start from entry states, in which the agent's handler of std::terminate is set. g++ knows no agent.
UNCAUGHT = """
#include <cstdio>
#include <stdexcept>
#include <vector>
__attribute__((noinline)) int Share(std::vector<int>& shares, unsigned which) {
#ifdef FIXED
  if (which >= shares.size()) return 0;
#endif
  return shares.at(which);
}
int main(int argc, char**) {
  std::vector<int> shares = {1, 2};
  std::printf("%d\\n", Share(shares, argc + 1));
}
"""


# At -O2 Weigh and Sum are inlined and gone.
INLINED = """
#include <cstdio>
#include <cstdlib>
struct Item { const int* weight; };
static int Weigh(const Item& item) {
#ifdef FIXED
  if (!item.weight) return 0;
#endif
  return *item.weight;
}
#ifdef RENAMED
static int Add(const Item* items, int count) {
#else
static int Sum(const Item* items, int count) {
#endif
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += Weigh(items[i]);
  return sum;
}
#ifdef RENAMED
#define Sum Add
#endif
int main(int argc, char**) {
  const int seven = 7;
  const Item items[] = {{&seven}, {argc > 3 ? &seven : nullptr}};
  std::printf("%d\\n", Sum(items, 2));
}
"""


# Optimised, ByName jumps to strcmp, and leaves no frame between that and qsort's.
COMPARED = """
#include <cstdio>
#include <cstdlib>
#include <cstring>
struct Person { const char* name; int age; };
__attribute__((noinline)) static int ByName(const void* a, const void* b) {
  const Person* first = static_cast<const Person*>(a);
  const Person* second = static_cast<const Person*>(b);
#ifdef FIXED
  if (!first->name || !second->name) return !first->name - !second->name;
#endif
#ifdef ELSEWHERE
  if (!first->name) std::abort();
#endif
  return strcmp(first->name, second->name);
}
__attribute__((noinline)) int Sort(Person* people, int count) {
  qsort(people, count, sizeof *people, ByName);
  return people[0].age;
}
int main() {
  Person people[3] = {{"Grace", 36}, {nullptr, 36}, {"Ada", 85}};
  std::printf("%d\\n", Sort(people, 3));
}
"""


class OtherBuild(harness.Workspace):
    def compile_anew(self, output, *flags, text, compiler="g++"):
        (self.path / "program.cc").write_text(text)
        self.run_command(compiler, "-std=c++20", "-g", *flags, "program.cc", "-o", output)
        return ("--program", self.path / output)


class OtherCompiler(OtherBuild):

    def test_has_no_agent_to_handle_an_exception(self):
        program = self.compile_text(UNCAUGHT, flags=("-O0", "-g"))
        report = self.crash(program, died_of=signal.SIGABRT)
        result = self.reproduce(program, "--rerun", report=report, build=True)
        self.assert_reproduced(result, "Share", "main")
        for level in ("-O0", "-O2"):
            red = self.run_tests(*self.compile_anew("anew", level, text=UNCAUGHT), expect=1, disabled=False)
            self.assertIn("Frame", red.stdout)
            self.assertNotIn("SKIPPED", red.stdout)
            self.assertIn(": happens again", red.stdout)
            fixed = self.run_tests(*self.compile_anew("fixed", level, "-DFIXED", text=UNCAUGHT), disabled=False)
            self.assertNotIn("SKIPPED", fixed.stdout)

    # The compiler does not pass `unused` to Through, which no other file can call.
    def test_does_not_call_a_function_as_this_one_does(self):
        text = """
__attribute__((noinline)) int Read(const int* place) { return *place + 1; }
static __attribute__((noinline)) int Through(int unused, const int* place) { return Read(place) + 1; }
__attribute__((noinline)) int Start(const int* place) { return Through(3, place) + Through(4, place); }
int main(int argc, char** argv) { return Start(argc > 5 ? &argc : nullptr); }
"""
        program = self.compile_text(text)
        self.reproduce(program, report=self.crash(program, died_of=signal.SIGSEGV))
        source = (self.path / "tests/crash_test.cc").read_text()
        self.assertRegex(source, r"// Disabled: the compiler has changed how the function is called[^\n]*\nTEST\(CrashTest, "
                                 r"DISABLED_Frame1_Through\)")


class Compared(OtherBuild):
    """A library calls a function that ends in a jump to a function of a library."""

    def check(self, recorded, others, frames):
        program = self.compile_text(COMPARED, flags=(recorded, "-g"))
        self.crash(program, died_of=signal.SIGSEGV)
        self.assert_reproduced(self.reproduce(program, build=True), *frames)
        for compiler, level in others:
            build = self.compile_anew("anew", level, text=COMPARED, compiler=compiler)
            red = self.run_tests(*build, "--gtest_filter=*main", expect=1)
            self.assertIn("happens again", red.stdout, f"{compiler} {level}")
            self.run_tests(*self.compile_anew("fixed", level, "-DFIXED", text=COMPARED, compiler=compiler),
                           "--gtest_filter=*main")
            other = self.run_tests(*self.compile_anew("other", level, "-DELSEWHERE", text=COMPARED, compiler=compiler),
                                   "--gtest_filter=*main", expect=1)
            self.assertIn("SIGABRT", other.stdout)

    def test_it_had_a_frame(self):
        self.check("-O0", (("clang++-19", "-O2"), ("g++", "-O2"), ("g++", "-O0")), ("ByName", "Sort", "main"))

    def test_it_had_none(self):
        self.check("-O2", (("clang++-19", "-O0"), ("g++", "-O0"), ("g++", "-O2")), ("Sort", "main"))


class InlinedThere(OtherBuild):
    """Tests of functions that the build has inlined everywhere."""

    def setUp(self):
        super().setUp()
        program = self.compile_text(INLINED, flags=("-O0", "-g"))
        self.crash(program, died_of=signal.SIGSEGV)
        self.assert_reproduced(self.reproduce(program, build=True), "Weigh", "Sum", "main")

    def results(self):
        """By the test's name: RED, SKIPPED or GREEN, from the file that a machine reads."""
        said = json.loads((self.path / "said.json").read_text())
        return {test["name"].rpartition("_")[2]: "SKIPPED" if test["result"] == "SKIPPED" else
                "RED" if "failures" in test else "GREEN" for suite in said["testsuites"] for test in suite["testsuite"]}

    def ask(self, *words, expect):
        run = self.run_tests(*words, "--gtest_output=json:said.json", expect=expect)
        return run.stdout

    def twin(self, *flags):
        return f"--twin={self.compile_anew('twin', '-O0', '-fno-inline', *flags, text=INLINED)[1]}"

    def test_are_skipped_and_say_what_can_be_asked(self):
        said = self.ask(*self.compile_anew("optimised", "-O2", text=INLINED), expect=1)
        self.assertEqual(self.results(), {"Weigh": "SKIPPED", "Sum": "SKIPPED", "main": "RED"})
        self.assertRegex(said, r"Sum\(.*\) is inlined in this build of the program; the test of frame \d \(main\) runs it "
                               r"too; a twin has it \(recrash_twin\)")

    def test_run_in_a_twin(self):
        program = self.compile_anew("optimised", "-O2", text=INLINED)
        said = self.ask(*program, self.twin(), expect=1)
        self.assertEqual(self.results(), {"Weigh": "RED", "Sum": "RED", "main": "RED"})
        self.assertIn("(in the twin: this build has no such function)", said)
        self.assertEqual(said.count("[==========] Running"), 1)
        program = self.compile_anew("optimised", "-O2", "-DFIXED", text=INLINED)
        said = self.ask(*program, self.twin("-DFIXED"), expect=None)
        self.assertEqual(self.results()["main"], "GREEN")
        self.assertEqual(self.results()["Sum"], "GREEN")
        self.assertRegex(said, r"note: frame 1 \(Sum\(Item const\*, int\)\): returned; reached program.cc:\d+ 1 time, none failed "
                               r"\(in the twin: this build has no such function\)")

    # The first item alone has a weight.
    def test_give_edited_values_in_a_twin(self):
        source = self.path / "tests/crash_test.cc"
        text = source.read_text()
        test = re.search(r"^TEST\(CrashTest, \w+_Sum\) \{\n.*?^\}\n", text, re.M | re.S)[0]
        for name, value in (("Number", "1"), ("Text", '"one"')):
            edited = re.sub(r"frame\.Call\((\w+), count\)", rf'frame.Set("count", {value}).Call(\1)', test)
            self.assertNotEqual(edited, test)
            text += re.sub(r"CrashTest, \w+\)", f"Edited, Of_{name})", edited)
        source.write_text(text)
        self.run_command("cmake", "--build", "tests/build", timeout=600)
        program = self.compile_anew("optimised", "-O2", text=INLINED)
        said = self.ask(*program, self.twin(), "--gtest_filter=Edited.*", expect=None)
        self.assertEqual(self.results(), {"Number": "GREEN", "Text": "SKIPPED"}, said)
        self.assertIn("in the twin: cannot set count: its type is int, and a text was given", said)

    def test_are_skipped_in_a_twin_that_does_not_have_them(self):
        program = self.compile_anew("optimised", "-O2", "-DRENAMED", text=INLINED)
        said = self.ask(*program, self.twin("-DRENAMED", "-O2", "-finline"), expect=1)
        self.assertEqual(self.results()["Sum"], "SKIPPED")
        self.assertIn("; in the twin: Sum(Item const*, int) is", said)

    def test_say_that_there_is_no_such_twin(self):
        program = self.compile_anew("optimised", "-O2", text=INLINED)
        said = self.ask(*program, "--twin=./nowhere", expect=1)
        self.assertEqual(self.results()["Sum"], "SKIPPED")
        self.assertIn("; in the twin: the program ./nowhere is not there", said)


if __name__ == "__main__":
    harness.main()
