"""generate, verify, reproduce and debug of the installed command, on a program that really crashes."""

import json
import pathlib
import shutil
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "e2e"))
import harness  # noqa: E402

SOURCE = """
#include <stdio.h>
#include <string.h>
struct ENOENT { const char* text; };  // a macro in the headers of the tests, fine here
__attribute__((noinline)) size_t Length(const ENOENT* entry, const char* prefix) {
  return strlen(prefix) + strlen(entry->text);
}
__attribute__((noinline)) size_t Measure(const ENOENT* entry) { return Length(entry, "prefix ") + 1; }
int main() {
  ENOENT entry = {nullptr};
  printf("%zu\\n", Measure(&entry));
}
"""


class Pipeline(harness.Workspace):
    def setUp(self):
        super().setUp()
        self.program = self.compile_text(SOURCE)
        self.report = self.crash(self.program, died_of=signal.SIGSEGV)

    def recrash(self, *words, expect=0):
        return self.run_command("recrash", *words, expect=expect)

    def text(self, name="tests/crash_test.cc"):
        return (self.path / name).read_text()

    def test_generate_then_verify_keeps_and_builds(self):
        self.recrash("generate", "--program", self.program, "-o", "tests")
        candidates = self.text()
        self.assertIn("_Length", candidates)
        out = self.recrash("verify", "tests", "--json", "verdicts.json").stdout
        self.assertIn("recrash: reproduced: SIGSEGV in Length at program.cc:", out)
        result = json.loads((self.path / "verdicts.json").read_text())
        self.assertEqual(result["tests"], self.text().count("\nTEST("))
        self.assertEqual(result["report_bytes"], self.report.stat().st_size)
        self.assertGreater(result["memory_bytes"], result["report_bytes"])
        self.assertGreater(result["collect_ms"], 0)
        red = self.run_tests(expect=1)
        self.assertNotIn("[       OK ]", red.stdout)

    def test_a_type_that_does_not_compile_becomes_an_address(self):
        self.reproduce(self.program, report=self.report, build=True)
        self.assertNotIn("struct ENOENT;", self.text())
        self.assertIn("frame.Load<recrash::Address>", self.text())

    def test_a_short_string_is_a_literal(self):
        self.reproduce(self.program, report=self.report)
        self.assertIn('const char* prefix = "prefix ";', self.text())

    def test_an_edited_test_is_kept(self):
        self.reproduce(self.program, report=self.report)
        with open(self.path / "tests/crash_test.cc", "a") as file:
            file.write("// mine\n")
        self.recrash("reproduce", "--program", self.program, "-o", "tests", "--no-build")
        self.assertIn("// mine", self.text("tests/crash_test.cc.1"))
        self.assertNotIn("// mine", self.text())

    def test_a_folder_of_others_is_refused(self):
        (self.path / "src").mkdir()
        (self.path / "src/main.cc").write_text("int main() {}\n")
        result = self.recrash("reproduce", "--program", self.program, "-o", "src", expect=4)
        self.assertIn("--force", result.stderr)
        self.assertEqual([p.name for p in (self.path / "src").iterdir()], ["main.cc"])

    def test_verify_of_a_fixed_build_leaves_the_tests(self):
        self.reproduce(self.program, report=self.report)
        before = self.text()
        fixed = self.compile_text(SOURCE.replace("entry->text)", 'entry->text ? entry->text : "")'), output="fixed")
        result = self.recrash("verify", "tests", "--program", fixed, expect=1)
        self.assertIn("not reproduced", result.stdout)
        self.assertIn("returned", result.stdout)
        self.assertEqual(self.text(), before)

    def test_verify_of_a_fix_keeps_what_turned_green(self):
        self.reproduce(self.program, report=self.report, build=True)
        fixed = self.compile_text(SOURCE.replace("entry->text)", 'entry->text ? entry->text : "")'), output="fixed")
        result = self.recrash("verify", "tests", "--fixed", fixed, "--json", "fix.json")
        tests = json.loads((self.path / "fix.json").read_text())["tests"]
        green = [test["name"] for test in tests if test["turned_green"]]
        red = [test["name"] for test in tests if not test["turned_green"]]
        self.assertTrue(green)
        for name in green:
            self.assertIn(f"TEST(CrashTest, {name})", self.text())
            self.assertRegex(result.stdout, f"{name} +turned green")
        for name in red:
            self.assertRegex(self.text(), rf"// Disabled: [^\n]*\nTEST\(CrashTest, DISABLED_{name}\)")
        self.assertIn("[  PASSED  ]", self.run_tests("--program", fixed).stdout)
        # The program that crashed is no fix of itself: then no test is enabled.
        none = self.recrash("verify", "tests", "--fixed", self.program, expect=1)
        self.assertIn("stays red after the fix", none.stdout)
        self.assertNotRegex(self.text(), r"TEST\(CrashTest, Frame")
        self.recrash("verify", "tests", "--fixed", fixed)
        for name in green:
            self.assertIn(f"TEST(CrashTest, {name})", self.text())

    # Without the build that crashed only the frames that have tests are known: the table names no others, and counts none.
    def test_verify_of_another_build_tells_of_the_tests_alone(self):
        flags = ("-O2", "-g", "-Wl,--build-id")
        program = self.compile_text(SOURCE, flags=flags)
        tried = self.reproduce(program, report=self.crash(program, died_of=signal.SIGSEGV))["tests"]
        self.compile_text(SOURCE + "int unused;\n", flags=flags)  # in its place
        result = self.recrash("verify", "tests", "--program", program)
        self.assertNotIn("more frame", result.stdout)
        self.assertIn(f" of the {tried} tried)", result.stdout)

    # CMake refuses a cache that was made in another folder.
    def test_verify_of_a_copied_folder_builds_it_anew(self):
        self.reproduce(self.program, report=self.report, build=True)
        shutil.copytree(self.path / "tests", self.path / "copy")
        self.recrash("verify", "copy")
        self.assertIn(f"CMAKE_HOME_DIRECTORY:INTERNAL={self.path / 'copy'}\n", self.text("copy/build/CMakeCache.txt"))
        executable = self.path / "copy/build/crash_test"
        self.assertIn(str(self.path / "copy/crash_test.rcr").encode(), executable.read_bytes())
        shutil.rmtree(self.path / "tests")
        red = self.run_command(executable, expect=1)
        self.assertNotIn("[       OK ]", red.stdout)

    def test_json_on_standard_output_is_nothing_but_json(self):
        result = self.recrash("reproduce", "--program", self.program, "-o", "tests", "--no-build", "--json", "-")
        self.assertGreater(json.loads(result.stdout)["tests"], 0)

    def test_the_default_folder_is_named_after_the_report(self):
        self.recrash("reproduce", "--program", self.program, "--no-build")
        self.assertTrue((self.path / f"{self.report.stem}-tests/crash_test.cc").exists())

    def test_debug_says_which_frames_have_tests(self):
        self.reproduce(self.program, report=self.report, build=True)
        result = self.recrash("debug", "tests", "--frame", "77", expect=4)
        self.assertIn("frame 77 has no test", result.stderr)

    def test_debug_makes_the_tests_when_there_are_none(self):
        self.recrash("show", "--program", self.program, "--json", "show.json")
        frames = json.loads((self.path / "show.json").read_text())["frames"]
        index = [frame["index"] for frame in frames if frame["function"].startswith("Measure")][0]
        result = self.recrash("debug", "--program", self.program, "--frame", str(index), "--", "-batch", "-ex", "bt 1")
        self.assertRegex(result.stdout, r"#0  Measure \(entry=0x")

    # As the README has it: `CXX=recrash-clang++`, exported, and with it what the program is compiled with.
    def test_the_environment_in_which_the_program_was_built(self):
        for variables in ({"CXX": "recrash-clang++"}, {"CXXFLAGS": "-m32 -Werror", "LDFLAGS": "-static"}):
            with self.subTest(variables):
                self.environment |= variables
                self.assertGreater(self.reproduce(self.program, report=self.report, build=True)["tests"], 0)
                self.assertNotIn("[       OK ]", self.run_tests(expect=1).stdout)
                shutil.rmtree(self.path / "tests")

    def test_a_report_of_another_build_is_refused(self):
        self.environment |= {"RECRASH_KEEP_PROGRAMS": "0"}
        self.compile_text(SOURCE + "int unused;\n", flags=("-O1", "-g", "-Wl,--build-id"))
        report = self.crash(self.path / "program", died_of=signal.SIGSEGV)
        self.compile_text(SOURCE + "int other;\n", flags=("-O2", "-g", "-Wl,--build-id"))
        result = self.recrash("reproduce", report, "--program", self.program, expect=4)
        self.assertIn("build-id", result.stderr)


if __name__ == "__main__":
    harness.main()
