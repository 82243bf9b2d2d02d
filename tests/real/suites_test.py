#!/usr/bin/env python3
"""suites.py would see a difference: what its parsers read from each runner's words, and a compiler that does harm."""

import pathlib
import shutil
import sys
import tempfile
import time
import types
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import building
import outcomes
import product
import single_programs
import suites
from suite_list import SinglePrograms, Suite

CTEST = """
      Start  1: one_test
1: [ RUN      ] A.Works
1: [       OK ] A.Works (0 ms)
1: [ RUN      ] A.Prints
1: some words[  FAILED  ] A.Prints (3 ms)
1: [ RUN      ] B.With/0
1: [  FAILED  ] B.With/0, where TypeParam = int (0 ms)
 1/2 Test  #1: one_test ..............***Failed    0.30 sec
      Start  2: two_test
2: [ RUN      ] A.Works
2: [  SKIPPED ] A.Works (0 ms)
2: [ RUN      ] A.Dies
 2/2 Test  #2: two_test ..............Subprocess aborted***Exception:   0.10 sec
"""


class Outcomes(unittest.TestCase):
    def test_ctest_tells_the_programs(self):
        self.assertEqual(outcomes.ctest(CTEST), {"one_test": "Failed", "two_test": "Subprocess aborted***Exception:"})

    def test_gtest_tells_each_test_of_each_program(self):
        self.assertEqual(outcomes.gtest(CTEST), {
            "one_test A.Works": "passed", "one_test A.Prints": "failed", "one_test B.With/0": "failed",
            "two_test A.Works": "skipped", "two_test A.Dies": "cut off"})

    def test_gtest_without_ctest(self):
        self.assertEqual(outcomes.gtest("[ RUN      ] A.B\n[       OK ] A.B (0 ms)\n[ RUN      ] A.B\n"),
                         {"A.B": "passed", "A.B (2)": "cut off"})

    def test_names_that_come_twice_are_numbered(self):
        self.assertEqual(outcomes.tagged("[pass] Parse [a][a]\n[fail] Parse [a][b]\n[pass] Load\n"),
                         {"Parse": "passed", "Parse (2)": "failed", "Load": "passed"})

    def test_pugixml_counts_what_it_does_not_name(self):
        results = outcomes.pugixml("Test dom_text failed: a != b\nFAILURE: 1 out of 20 tests failed.\n")
        self.assertEqual(results, {"Test dom_text": "failed", "19 tests": "passed"})
        self.assertEqual(outcomes.count(results), 20)
        self.assertEqual(outcomes.pugixml("Segmentation fault\n"), {"the run": "cut off"})

    def test_jsoncpp(self):
        self.assertEqual(outcomes.jsoncpp("Testing A/b: OK\nTesting A/c: FAILED\nTesting A/d: "),
                         {"A/b": "passed", "A/c": "failed", "A/d": "cut off"})

    def test_re2_names_a_test_before_it_runs(self):
        text = "  Start 1: set_test\n1: Set.One\n1: Set.Two\n1: PASS\n  Start 2: dfa_test\n2: DFA.One\n2: DFA.Two\n"
        self.assertEqual(outcomes.re2(text), {"set_test Set.One": "passed", "set_test Set.Two": "passed",
                                              "dfa_test DFA.One": "passed", "dfa_test DFA.Two": "cut off"})

    def test_cppunit(self):
        self.assertEqual(outcomes.cppunit("TestA::one : OK\nTestA::two : assertion\nTestA::three"),
                         {"TestA::one": "passed", "TestA::two": "failed", "TestA::three": "cut off"})

    def test_cppcheck(self):
        text = "TestA::one\nTestA::two\nTesting Complete\nTests failed: 1\ntest/testa.cpp:12(TestA::one): Assertion failed.\n"
        self.assertEqual(outcomes.cppcheck(text), {"TestA::one": "failed", "TestA::two": "passed"})
        self.assertEqual(outcomes.cppcheck("TestA::one\nTestA::two\n"), {"TestA::one": "passed", "TestA::two": "cut off"})

    def test_a_test_that_is_missing_differs(self):
        self.assertEqual(suites.differing({"a": "passed", "b": "passed"}, {"a": "passed", "c": "passed"}), ["b", "c"])


SUITE = SinglePrograms("none", "1", (), "**/*.c", "-O1", ("gnu17",))
HARM = """#!/bin/sh
# An instrumentation that does harm: one program is not what it was, one is not compiled.
case "$*" in *refused.c*) exit 1 ;; *changed.c*) exec {clang} -DHARM "$@" ;; *) exec {clang} "$@" ;; esac
"""


class SinglePrograms_(unittest.TestCase):
    def setUp(self):
        self.source = pathlib.Path(tempfile.mkdtemp(prefix="recrash-suites-test."))
        self.addCleanup(shutil.rmtree, self.source)
        compiler = self.source / "harmful-clang"
        compiler.write_text(HARM.format(clang=product.compilers("plain")[0]))
        compiler.chmod(0o755)
        plain = product.compilers("plain")
        compilers = {"plain": plain, "full": (str(compiler), str(compiler), plain[2])}
        patched = unittest.mock.patch("product.compilers", compilers.get)
        patched.start()
        self.addCleanup(patched.stop)

    def results(self, **programs):
        for name, text in programs.items():
            (self.source / f"{name}.c").write_text(text)
        results = {}
        single_programs.run_suite(SUITE, self.source, results, lambda done, total: None)
        return results

    def test_harm_is_seen(self):
        results = self.results(
            good="int main(void) { return 0; }", refused="int main(void) { return 0; }", wrong="no C at all",
            changed='#include <stdio.h>\nint main(void) {\n#ifdef HARM\n  puts("harm");\n#endif\n  return 3; }')
        self.assertIsNone(results.pop("wrong.c"))
        outcome = {name: (result["plain"]["outcome"], result["full"]["outcome"], result["plain"] == result["full"],
                          result["stable"]) for name, result in results.items()}
        self.assertEqual(outcome, {"good.c": ("exit status 0", "exit status 0", True, True),
                                   "changed.c": ("exit status 3", "exit status 3", False, True),
                                   "refused.c": ("exit status 0", "does not compile", False, True)})

    def test_what_is_known_is_not_run_again(self):
        (self.source / "a.c").write_text("int main(void) { return 0; }")
        results = {"a.c": "known"}
        single_programs.run_suite(SUITE, self.source, results, self.fail)
        self.assertEqual(results, {"a.c": "known"})

    def test_output_that_differs_by_itself_is_unstable(self):
        results = self.results(address='#include <stdio.h>\nint main(void) { printf("%p\\n", (void*)main); }')
        self.assertFalse(results["address.c"]["stable"])

    def test_an_outcome_that_the_layout_decides_is_unstable(self):
        results = self.results(changed="""
#ifdef HARM
int Moved(int a) { return a * 3; }
#endif
int Other(int a) { return a / 7; }
int main(void) { return ((long)main >> 4) & 3; }""")
        self.assertNotEqual(results["changed.c"]["plain"], results["changed.c"]["full"])
        self.assertFalse(results["changed.c"]["stable"])

    def test_only_the_line_of_the_agent_is_taken_out_of_stderr(self):
        text = "before\nrecrash: SIGABRT in a (process 1): report in b.rcr\nafter\n"
        self.assertEqual(building.AGENT_LINE.sub("", text), "before\nafter\n")


SUITE_OF_ONE = Suite("none", "1", 'echo >> begun\ntest -e "$SRC/good"\n"$CC" $FLAGS "$SRC/a.c" -o a', "./a", (outcomes.tagged,))


class Builds(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="recrash-suites-test."))
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "a.c").write_text("int main(void) { return 0; }")
        self.of = {"compiler": "1", "agent": "1", "collector": "1"}
        patched = unittest.mock.patch("suites.parts", lambda mode: dict(self.of))
        patched.start()
        self.addCleanup(patched.stop)

    def begun(self):
        """How often the build ran in the folder as it is."""
        suites.build(SUITE_OF_ONE, "plain", self.folder, self.folder)
        return len((self.folder / "plain/begun").read_text())

    def test_goes_on_and_is_done_once(self):
        with self.assertRaises(suites.debian.Missing):
            self.begun()
        (self.folder / "good").touch()
        self.assertEqual(self.begun(), 2)
        self.assertEqual(self.begun(), 2)

    def test_another_agent_links_again_another_compiler_begins_again(self):
        (self.folder / "good").touch()
        self.begun()
        program = self.folder / "plain/a"
        before = program.stat().st_mtime_ns
        self.of["agent"] = "2"
        self.assertEqual(self.begun(), 2)
        self.assertGreater(program.stat().st_mtime_ns, before)
        self.of["compiler"] = "2"
        self.assertEqual(self.begun(), 1)

    def test_a_build_that_ignores_the_compiler_it_is_given_is_refused(self):
        (self.folder / "good").touch()
        suites.build(SUITE_OF_ONE, "plain", self.folder, self.folder)
        (self.folder / "plain").rename(self.folder / "full")
        plain = product.compilers("plain")
        with unittest.mock.patch("product.compilers", lambda mode: plain), self.assertRaisesRegex(
                suites.debian.Missing, "did not use the compiler"):
            suites.build(SUITE_OF_ONE, "full", self.folder, self.folder)


class Runs(unittest.TestCase):
    def test_nothing_stays_behind_when_the_time_is_up(self):
        with tempfile.TemporaryDirectory() as folder, open(pathlib.Path(folder, "out"), "w+b") as output:
            # set -m: the shell's child gets a process group of its own, as ninja's do.
            outcome = building.run(["bash", "-c", "set -m; sleep 1000 & echo $!; wait"], folder, building.environment(folder), 5,
                                   output)
            output.seek(0)
            self.assertEqual(outcome, "timed out")
            child = pathlib.Path("/proc", str(int(output.read())))
            for _ in range(100):  # it has been sent SIGKILL, and dies when it next gets a processor
                if not child.exists() or "State:\tZ" in (child / "status").read_text():
                    return
                time.sleep(0.1)
            self.fail(f"{child} is still there: {(child / 'status').read_text()}")


class Options(unittest.TestCase):
    def words(self, text):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "a.c")
            file.write_text(text)
            return single_programs.options_of(file)[0]

    def test_what_the_file_asks_for(self):
        self.assertEqual(self.words('/* { dg-options "-fwrapv -O" } */'), ["-fwrapv", "-O"])
        self.assertEqual(self.words('/* { dg-options "-mno-mmx" { target { x86_64-*-* i?86-*-* } } } */'), ["-mno-mmx"])
        self.assertEqual(self.words("// ADDITIONAL_COMPILE_FLAGS: -Wno-x -DY\n"), ["-Wno-x", "-DY"])

    def test_options_for_another_machine_are_not_taken(self):
        self.assertEqual(self.words('/* { dg-options "-maltivec" { target powerpc*-*-* } } */'), [])
        self.assertEqual(self.words('/* { dg-options "-m3" { target { { i?86-*-* x86_64-*-* } && ilp32 } } } */'), [])


class Table(unittest.TestCase):
    def test_totals(self):
        one = types.SimpleNamespace(package="p", version="1", tests=3, passed=2, left_out=1, unstable=[], reports=4,
                                    differences={"t": ["passed", "failed"]}).__dict__
        self.assertIn("| **all** | | 6 | 4 | 2 | 0 | 8 | **2** |", suites.table({"a": one, "b": one}))


if __name__ == "__main__":
    unittest.main()
