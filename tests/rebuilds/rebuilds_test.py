#!/usr/bin/env python3
"""The harness of the rebuilds: it tells the verdicts apart, does not count a build that ends well, and says when a test lies."""

import pathlib
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "real")]

import builds
import page
import real_programs
import rebuilds
import small_programs
import verdicts

OUTPUT = """[ RUN      ] CrashTest.Frame1_Read
/home/ada/crash_test.cc:31: Skipped
the file /home/ada/in.txt is missing
[  SKIPPED ] CrashTest.Frame1_Read (0 ms)
[ RUN      ] CrashTest.Frame2_main
note: frame 2 (main) ended otherwise than recorded: SIGSEGV in program+0x7ff4
[       OK ] CrashTest.Frame2_main (1 ms)
"""


def test(name, result="COMPLETED", status="RUN", *failures):
    return {"name": name, "result": result, "status": status, "failures": [{"failure": text} for text in failures]}


class Verdicts(unittest.TestCase):
    def test_each_is_told_from_the_others(self):
        report = {"testsuites": [{"testsuite": [
            test("Frame0_Sum", "COMPLETED", "RUN", "t.cc:9\nSIGSEGV in Sum at a.cc:6: happens again when frame 0 is called"),
            test("Frame1_Read", "SKIPPED"), test("Frame2_main"), test("DISABLED_Frame3_Old", "SUPPRESSED", "NOTRUN"),
            test("Frame4_Other", "COMPLETED", "RUN", "t.cc:9\nframe 4 fails otherwise now: SIGABRT at /home/ada/b.cc:3, 0x7f12")]}]}
        said = verdicts.read(report, OUTPUT)
        self.assertEqual({name: kind for name, (kind, _) in said.items()},
                         {"Frame0_Sum": verdicts.RED, "Frame1_Read": verdicts.SKIPPED, "Frame2_main": verdicts.GREEN,
                          "DISABLED_Frame3_Old": verdicts.DISABLED, "Frame4_Other": verdicts.OTHER})
        self.assertEqual(said["Frame1_Read"][1], "the file in.txt is missing")
        self.assertEqual(said["Frame4_Other"][1], "frame 4 fails otherwise now: SIGABRT at b.cc:3, 0x…")

    def row(self, end, counted, kind):
        return {"program": "p", "group": "cpp", "origin": "-O2", "own": 1, "own_tested": 1, "tests": 1, "disabled": 0, "bytes": 9000,
                "seconds": 1, "failure": "SIGSEGV", "rebuilds": {"clang -O0": {
                    "end": end, "counted": counted, **({"said": {"Frame2_main": {"kind": kind, "words": ""}}} if kind else {})}}}

    def test_green_with_the_bug_is_a_lie(self):
        self.assertEqual(list(rebuilds.lies(self.row("SIGSEGV", True, verdicts.GREEN))), [("clang -O0", "Frame2_main")])
        self.assertEqual(list(rebuilds.lies(self.row("SIGSEGV", True, verdicts.RED))), [])
        document = page.document([page.published(self.row("SIGSEGV", True, verdicts.GREEN))], {})
        self.assertIn("- p (-O2), clang -O0: Frame2_main", document)

    def test_a_build_that_ends_well_is_listed_and_not_counted(self):
        rows = [page.published(self.row("status 0", False, None))]
        self.assertEqual(page.totals(rows, ["clang -O0"])["clang -O0"], {"builds": 1, "counted": 0})
        self.assertIn("| clang -O0 | status 0 | p |", page.document(rows, {}))

    def test_it_has_to_fail_in_each_run(self):
        always = small_programs.Program("cpp", "p", pathlib.Path("p.cc"), "")
        seldom = small_programs.Program("samples", "p", pathlib.Path("p.cc"), "", tries=100)
        self.assertTrue(rebuilds.fails(always, "SIGSEGV or sanitizer"))
        self.assertFalse(rebuilds.fails(always, "SIGSEGV or status 0"))
        self.assertTrue(rebuilds.fails(seldom, "SIGSEGV or status 0"))
        self.assertFalse(rebuilds.fails(seldom, "status 0"))


class Builds(unittest.TestCase):
    def test_all_are_made_unless_some_are_named(self):
        everything = [*builds.WITH_BUG, *builds.FIXES]
        self.assertEqual([rebuild.name for rebuild in rebuilds.chosen_builds([])], everything)
        self.assertEqual([rebuild.name for rebuild in rebuilds.chosen_builds(["fixed, ASan", "ASan"])], ["ASan", "fixed, ASan"])


class RealPrograms(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.folder = pathlib.Path(place.name)

    def test_three_have_a_crash_and_a_fix(self):
        programs = real_programs.all_programs(self.folder)
        self.assertEqual({program.build_name for program in programs.values()}, set(real_programs.NAMES))
        self.assertGreaterEqual(len(real_programs.NAMES), 3)
        for program in programs.values():
            self.assertIn(program.input_name, program.place_input(self.folder))
            self.assertTrue((self.folder / program.input_name).exists())

    def test_they_are_built_in_other_ways_but_not_from_marked_text(self):
        program = next(iter(real_programs.all_programs(self.folder).values()))
        names = {name for name, rebuild in (builds.REBUILDS | builds.FIXES).items() if rebuild.applies(program, builds.ORIGINS["-O2"])}
        self.assertLessEqual({"clang -O0", "g++ -O2", "ASan", "LTO", "another folder", "a line more", "fixed", "fixed, g++ -O2"}, names)
        self.assertFalse({"a function split", "a function moved", "a member added"} & names)

    def test_each_file_gets_a_line(self):
        (self.folder / "core").mkdir()
        for name in ("core/parse.cpp", "core/parse.h", "README"):
            (self.folder / name).write_text("text\n")
        real_programs.add_line(self.folder)
        self.assertEqual([(self.folder / name).read_text() for name in ("core/parse.cpp", "core/parse.h", "README")],
                         ["// one line more\ntext\n"] * 2 + ["text\n"])

    def test_the_folder_of_a_build_is_found_again(self):
        for program in real_programs.all_programs(self.folder).values():
            executable = self.folder / "build" / real_programs.PROGRAMS[program.build_name].program
            self.assertEqual(program.folder_of(executable), self.folder)


class Programs(unittest.TestCase):
    def test_those_of_a_folder_are_its_sources(self):
        with tempfile.TemporaryDirectory() as place:
            folder = pathlib.Path(place)
            for name in ("one.cc", "two.c", "notes.txt"):
                (folder / name).write_text("// frames: main\n// input: 3 4\\n\nint main() {}\n")
            programs = small_programs.of_folder(folder)
            self.assertEqual(list(programs), ["one", "two"])
            self.assertEqual(programs["two"].place_input(folder), ("input.txt",))
            self.assertEqual((folder / "input.txt").read_text(), "3 4\n")

    def test_each_says_what_a_test_needs(self):
        for program in small_programs.all_programs().values():
            with self.subTest(program=program.name):
                if program.group != "samples":
                    self.assertTrue(program.frames)
                    self.assertIn("FIXED", program.text)

    def test_a_statement_moves_into_a_function_of_its_own(self):
        moved = small_programs.split("int F(int* p) {\n  ++n;  // split\n  return *p;  // split\n}\n")
        self.assertEqual(moved, "int F(int* p) {\n  [&]() __attribute__((noinline)) { ++n; }();\n"
                                "  return [&]() __attribute__((noinline)) -> decltype(auto) { return *p; }();\n}\n")
        self.assertEqual(small_programs.split("int F(int* p) { return *p; }  // split\n"),
                         "int F(int* p) { return [&]() __attribute__((noinline)) -> decltype(auto) { return *p; }(); }\n")

    def test_a_part_moves_into_a_file_of_its_own(self):
        self.assertEqual(small_programs.part("a\n// part\nb\n// end part\nc\n"), ('a\n#include "part.h"\nc\n', "b\n"))

    def test_a_rebuild_is_no_second_build_of_the_same(self):
        program = small_programs.all_programs()["null_receiver"]
        names = {name for name, rebuild in builds.WITH_BUG.items() if rebuild.applies(program, builds.ORIGINS["-O2"])}
        self.assertNotIn("clang -O2", names)
        self.assertLessEqual({"clang -O0", "g++ -O2", "a line more", "a member added"}, names)


if __name__ == "__main__":
    unittest.main()
