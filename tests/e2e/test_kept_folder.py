"""A folder of tests is part of a project: it is committed, cloned, and built where neither the first folder nor its build is."""

import shutil
import signal

import harness

PROGRAM = """
__attribute__((noinline)) int Read(const int* target) { return *target + 1; }
int main() { return Read(nullptr) + 1; }
"""


class KeptFolder(harness.Workspace):
    def setUp(self):
        super().setUp()
        self.project = self.path / "project"
        self.project.mkdir()
        self.environment |= {f"GIT_{who}_{what}": "ada" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}

    def build_program(self, folder):
        (folder / "app.cc").write_text(PROGRAM)
        self.run_command("recrash-clang++", "-O2", "-g", "app.cc", "-o", "app", cwd=folder)
        return folder / "app"

    def make_tests(self):
        program = self.build_program(self.project)
        report = self.crash(program, died_of=signal.SIGSEGV)
        result = self.reproduce(program, report=report, build=True, output=self.project / "crash")
        self.assert_reproduced(result, "Read", "main")

    def clone_alone(self):
        """A clone of the project, and nothing that it was cloned from."""
        for command in (("init", "-q"), ("add", "app.cc", "crash"), ("commit", "-qm", "crash")):
            self.run_command("git", *command, cwd=self.project)
        self.run_command("git", "clone", "-q", self.project, "elsewhere")
        shutil.rmtree(self.project)
        shutil.rmtree(self.reports)
        return self.path / "elsewhere"

    def check_red(self, folder):
        self.run_command("cmake", "-S", folder, "-B", folder / "build", f"-Drecrash_DIR={harness.PREFIX}/lib/cmake/recrash")
        self.run_command("cmake", "--build", folder / "build")
        self.run_command(folder / "build/crash_test", expect=1)
        self.run_command(folder / "build/crash_test", "--expect=fail")

    def test_a_clone_is_built_and_red(self):
        self.make_tests()
        clone = self.clone_alone()
        committed = [file for file in (clone / "crash").rglob("*") if file.is_file()]
        self.assertEqual({file.name for file in committed},
                         {".gitignore", ".recrash.json", "launch.json", "CMakeLists.txt", "crash_test.cc", "crash_test.rcr"})
        for file in committed:
            if file.suffix != ".rcr":
                self.assertNotIn(str(self.path), file.read_text(), file)
        self.build_program(clone)
        self.check_red(clone / "crash")
        # With no word about where the program is.
        self.run_command("recrash", "verify", clone / "crash")

    def test_a_folder_that_was_moved_finds_its_program(self):
        self.make_tests()
        moved = self.path / "deep/down/crash"
        moved.parent.mkdir(parents=True)
        shutil.move(self.project / "crash", moved)
        self.run_command("recrash", "verify", moved)
        self.run_command(moved / "build/crash_test", "--expect=fail")

    def test_a_build_elsewhere_is_named_to_cmake(self):
        self.make_tests()
        program = shutil.move(self.project / "app", self.path / "server")
        folder = self.project / "crash"
        shutil.rmtree(folder / "build")
        self.run_command("cmake", "-S", folder, "-B", folder / "build", f"-Drecrash_DIR={harness.PREFIX}/lib/cmake/recrash",
                         f"-Dcrash_test_PROGRAM={program}")
        self.run_command("cmake", "--build", folder / "build")
        self.run_command(folder / "build/crash_test", "--expect=fail")


class KeptReport(harness.Workspace):
    """What lies beside tests is committed, so it is small: 22 KB where 87 KB were before, 7 of them entry states."""

    def test_is_small_and_enough(self):
        program = self.compile(harness.SOURCE / "tests/e2e/cpp/null_receiver.cc", output="program", flags=("-O2", "-g", "-w", "-std=c++20"))
        report = self.crash(program, died_of=signal.SIGSEGV)
        self.reproduce(program, report=report, build=True)
        kept = self.path / "tests/crash_test.rcr"
        self.assertLess(kept.stat().st_size, 24 << 10)
        for flags in (("-O0",), ("-O2", "-DCHANGED"), ("-O2", "-DFIXED")):
            other = self.compile(harness.SOURCE / "tests/e2e/cpp/null_receiver.cc", output="other", flags=(*flags, "-g", "-w", "-std=c++20"))
            self.run_tests("--program", other, expect=0 if "-DFIXED" in flags else 1)


class KeptPrograms(harness.Workspace):
    """The next build takes the place of the program, and the crash of the one before is reproduced all the same."""

    FIXED = PROGRAM.replace("return *target + 1", "return target ? *target + 1 : 0")

    def crash_and_build_anew(self):
        program = self.compile_text(PROGRAM)
        self.run_command("recrash", "run", "--", program, expect=128 + signal.SIGSEGV)
        self.compile_text(self.FIXED)
        return program, next(self.reports.glob("*.rcr"))

    def test_reproduce_after_the_next_build(self):
        program, report = self.crash_and_build_anew()
        result = self.reproduce(program, report=report, build=True)
        self.assert_reproduced(result, "Read", "main")
        self.assertIn("using the one that was kept", self.output.stderr)
        self.assertNotIn(".cache", (self.path / "tests/CMakeLists.txt").read_text())
        self.run_tests()  # against what is there now, which is fixed
        self.assertIn("2 of 2 tests turned green", self.run_command("recrash", "verify", "tests", "--fixed", program).stdout)

    def test_the_link_step_keeps_what_crashed_outside_of_recrash_run(self):
        (self.path / "program.cc").write_text(PROGRAM)
        build = ("recrash-clang++", "-O2", "-g", "program.cc", "-o", "program")
        self.run_command(*build)
        self.run_command(*build)
        self.assertFalse((self.path / ".cache").exists())  # it has not crashed
        report = self.crash(self.path / "program", died_of=signal.SIGSEGV)
        (self.path / "program.cc").write_text(self.FIXED)
        self.run_command(*build)
        result = self.reproduce(self.path / "program", report=report)
        self.assert_reproduced(result, "Read", "main")
        self.assertIn("using the one that was kept", self.output.stderr)
        self.run_command(*build)
        self.assertEqual(len(list((self.path / ".cache/recrash/programs").iterdir())), 1)  # the fixed one has not crashed

    def test_it_can_be_turned_off(self):
        self.environment["RECRASH_KEEP_PROGRAMS"] = "0"
        program, report = self.crash_and_build_anew()
        refused = self.run_command("recrash", "reproduce", report, "--program", program, expect=4).stderr
        self.assertIn("the report needs program, build-id", refused)
        self.assertFalse((self.path / ".cache").exists())


if __name__ == "__main__":
    harness.main()
