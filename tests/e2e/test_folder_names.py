"""Tests can be made and built in folders of any name that a file system takes, and of programs so named."""

import pathlib
import shutil
import signal

import harness

PROGRAM = """
__attribute__((noinline)) int Read(const int* target) { return *target + 1; }
int main() { return Read(nullptr) + 1; }
"""
# CMake passes no definition on that has a # in it. In its language ]] ends an argument, $ begins a variable, @ too.
BUILT = ["C#", "]]", "a b", "$HOME ${x} $x", "it's", "a&b", "(x) [[y]", "%d*?!`date`~", "@x@,=+", "\u00e4"]
REFUSED = {"a;b": ";", 'a"b': '"', "a\\b": "\\", "a|b": "|", "$(x)": "$(", "$<x>": "$<", "a\nb": "a line end"}


class FolderNames(harness.Workspace):
    def setUp(self):
        super().setUp()
        self.program = self.compile_text(PROGRAM)
        self.report = self.crash(self.program, died_of=signal.SIGSEGV)

    def check(self, name, program):
        folder = pathlib.Path(name) / "tests"
        result = self.reproduce(program, report=self.report, build=True, output=folder)
        self.assert_reproduced(result, "Read", "main")
        self.run_tests(directory=folder, expect=1)
        self.run_tests("--expect=fail", directory=folder)
        # Again, as its owner does after a change.
        self.run_command("cmake", "--build", folder / "build")

    def test_tests_are_built_there(self):
        for name in BUILT:
            with self.subTest(name):
                self.check(name, self.program)

    def test_programs_may_lie_there(self):
        for name in (*BUILT[:4], *REFUSED):
            with self.subTest(name):
                (self.path / "bin" / name).mkdir(parents=True)
                self.check("ordinary" + str(len(name)), shutil.copy(self.program, self.path / "bin" / name))

    def test_what_cmake_cannot_build_in_is_refused_at_once(self):
        for name, found in REFUSED.items():
            with self.subTest(name):
                words = ("recrash", "reproduce", self.report, "--program", self.program, "-o", name)
                refused = self.run_command(*words, expect=4).stderr
                self.assertIn(f"needed a path that CMake can build in, found {found}", refused)
                self.assertIn("give another folder with -o", refused)
                self.assertFalse((self.path / name).exists())
                self.run_command(*words, "--no-build")
                self.assertTrue((self.path / name / "crash_test.cc").exists())


if __name__ == "__main__":
    harness.main()
