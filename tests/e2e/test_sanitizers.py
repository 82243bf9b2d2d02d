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

    def test_tests_run_where_the_runtime_is_in_the_program_and_where_it_is_a_library(self):
        self.make_tests(self.NULL)
        for compiler in (self.CLANG, self.GCC):
            with self.subTest(compiler=compiler):
                said = self.said(self.build(compiler, *self.ADDRESS))
                self.assertEqual(said.count("happens again"), 2, said)


if __name__ == "__main__":
    harness.main()
