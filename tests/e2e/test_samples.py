"""Each sample, from its crash to tests that pass after its fix, in every way to build and to start a program."""

import itertools
import os
import pathlib
import signal
import sys

import harness

# sample, arguments, signal, functions whose frames reproduce, flags of its own
CRASHES = [
    ("random_crash", (), signal.SIGSEGV, ("FormatName", "Greet"), ()),
    ("bst", ("cast",), signal.SIGABRT, ("KeyOf", "Contains", "main"), ()),
    ("bst", ("key",), signal.SIGABRT, ("Compare", "Contains", "main"), ()),
    ("bst", ("encoding",), signal.SIGABRT, ("Decode", "Load", "main"), ()),
    ("missing_url", (), signal.SIGABRT, ("GetUrl", "Print", "main"), ()),
    ("side_effect", (), signal.SIGSEGV, ("Finish", "main"), ("-recrash-mode=full",)),
]


class Matrix(harness.Workspace):
    """All frames that can reproduce do, however the program was built and started."""

    def check(self, level, pie, prefix=()):
        for sample, arguments, died_of, functions, flags in CRASHES:
            with self.subTest(sample=sample, arguments=arguments):
                build = (level, "-g", *pie, *flags)
                program = self.compile_sample(sample, build)
                report = self.crash(program, *arguments, died_of=died_of, prefix=prefix)
                result = self.reproduce(program, report=report)
                self.assert_reproduced(result, *functions)


def matrix_case(level, pie, aslr):
    def test(self):
        flags = ("-fPIE", "-pie") if pie else ("-fno-pie", "-no-pie")
        self.check(level, flags, () if aslr else ("setarch", "-R"))

    return test


for level, pie, aslr in itertools.product(("-O0", "-O1", "-O2"), (True, False), (True, False)):
    name = f"test_{level[1:]}_{'pie' if pie else 'no_pie'}_{'aslr' if aslr else 'no_aslr'}"
    setattr(Matrix, name, matrix_case(level, pie, aslr))


class Stripped(harness.Workspace):
    """The program in the field has no symbols; its unstripped file lies in another folder and is found by build-id."""

    def test_each_sample(self):
        (self.path / "symbols").mkdir()
        (self.path / "field").mkdir()
        for sample, arguments, died_of, functions, flags in CRASHES:
            with self.subTest(sample=sample, arguments=arguments):
                program = self.compile_sample(sample, ("-O2", "-g", "-Wl,--build-id", *flags))
                unstripped = self.path / "symbols" / f"{sample}.unstripped"
                field = self.path / "field" / sample
                program.rename(unstripped)
                self.run_command("eu-strip", "-o", field, unstripped)
                report = self.crash(field, *arguments, died_of=died_of)
                result = self.reproduce(field, "--search-path", self.path / "symbols", report=report)
                self.assert_reproduced(result, *functions)


LIBRARY = """
#include <cstring>
#include <string>
__attribute__((noinline)) size_t Measure(const std::string& prefix, const char* text) { return prefix.size() + strlen(text); }
"""
PROGRAM = """
#include <cstdio>
#include <string>
size_t Measure(const std::string& prefix, const char* text);
__attribute__((noinline)) size_t Handle(const char* text) { return Measure("hello", text) + 1; }
int main(int argc, char** argv) { printf("%zu\\n", Handle(argc > 1 ? argv[1] : nullptr)); }
"""


class Apart(harness.Workspace):
    """At the desk the program, its library and their debug files lie in three folders, none of them as at the crash."""

    def setUp(self):
        super().setUp()
        for folder in ("field", "app", "lib", "debug"):
            (self.path / folder).mkdir()
        (self.path / "measure.cc").write_text(LIBRARY)
        self.compile("measure.cc", output="field/libmeasure.so", flags=("-O1", "-g", "-Wl,--build-id", "-shared", "-fPIC"))
        (self.path / "program.cc").write_text(PROGRAM)
        self.compile("program.cc", "-Lfield", "-lmeasure", output="field/program",
                     flags=("-O1", "-g", "-Wl,--build-id", "-Wl,-rpath,$ORIGIN"))
        self.report = self.crash(self.path / "field/program", died_of=signal.SIGSEGV)
        for name, folder in (("program", "app"), ("libmeasure.so", "lib")):
            # Of the same name as the library, as in /usr/lib/debug: there is no code in it.
            self.run_command("objcopy", "--only-keep-debug", f"field/{name}", f"debug/{name}")
            self.run_command("eu-strip", "-o", f"{folder}/{name}", f"field/{name}")
        (self.path / "field").rename(self.path / "gone")

    def test_search_paths_lead_the_loader(self):
        for options in ((), ("--rerun",)):
            result = self.reproduce("app/program", "--search-path", "debug", "--search-path", "lib", *options, report=self.report,
                                    build=True)
            self.assert_reproduced(result, "Measure", "Handle", "main")
            self.assertNotIn("its entry was not seen", self.output.stderr)
            self.assertIn("happens again", self.run_tests(expect=1).stdout)

    def test_a_library_that_is_nowhere_is_named(self):
        self.reproduce("app/program", "--search-path", "debug", "--search-path", "lib", report=self.report)
        (self.path / "lib").rename(self.path / "hidden")
        result = self.run_command("recrash", "verify", "tests", expect=4)
        self.assertIn("needed libmeasure.so, found no such library\n  give --search-path", result.stderr)
        self.assertNotIn("cannot open shared object", result.stderr)


class Fix(harness.Workspace):
    """The tests are red on the program that crashed, and at least one is green on the one that is fixed."""

    def check(self, sample, arguments, died_of, flags):
        program = self.compile_sample(sample, ("-O2", "-g", *flags))
        report = self.crash(program, *arguments, died_of=died_of)
        result = self.reproduce(program, report=report, build=True)
        self.assertGreater(result["tests"], 0)
        red = self.run_tests(expect=1)
        self.assertNotIn("[       OK ]", red.stdout)
        self.fix_sample(sample, ("-O2", "-g", *flags))
        green = self.run_tests(expect=None)
        self.assertIn("[       OK ]", green.stdout, green.stdout + green.stderr)
        return green.stdout


def fix_case(sample, arguments, died_of, flags):
    def test(self):
        self.check(sample, arguments, died_of, flags)

    return test


for sample, arguments, died_of, functions, flags in CRASHES:
    setattr(Fix, "test_" + "_".join((sample, *arguments)), fix_case(sample, arguments, died_of, flags))


class SideEffect(harness.Workspace):
    """An argument that changes between entry and failure: depth 0 shows nothing, depth 1 does, and a replay of main does too."""

    def verdict_of_finish(self, mode, *options):
        program = self.compile_sample("side_effect", ("-O2", "-g", f"-recrash-mode={mode}"))
        report = self.crash(program, died_of=signal.SIGSEGV)
        result = self.reproduce(program, *options, report=report, expect=None)
        return [frame for frame in result["frames"] if harness.short_name(frame["function"]) == "Finish"][0]

    def test_depth_0_is_not_enough(self):
        self.assertEqual(self.verdict_of_finish("references", "--derive=none")["verdict"], "returned")

    def test_a_replay_of_main_comes_to_its_entry(self):
        frame = self.verdict_of_finish("references")
        self.assertEqual((frame["verdict"], frame["derived_from"]), ("reproduced", 2))

    def test_depth_1_reproduces(self):
        frame = self.verdict_of_finish("full", "--derive=none")
        self.assertEqual((frame["verdict"], frame["depth"]), ("reproduced", 1))


if __name__ == "__main__":
    harness.main()
