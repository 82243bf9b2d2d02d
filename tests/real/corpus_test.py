#!/usr/bin/env python3
"""What the evaluation builds on: table, inputs, programs, fixes and published results speak of the same cases, and sources come
from a mirror that holds only a part of them."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import cases
import debian
import evaluate
import fixes
from corpus import make_inputs
from programs import PROGRAMS


class Corpus(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.inputs = pathlib.Path(place.name)
        self.cases = cases.read(self.inputs)

    def test_each_case_has_its_input_and_no_input_is_without_a_case(self):
        written = {file for file in self.inputs.rglob("*") if file.is_file()}
        self.assertEqual({case.input for case in self.cases}, written)

    def test_no_input_is_both_a_file_and_made(self):
        files = {f"{file.parent.name}/{file.name}" for file in make_inputs.files()}
        self.assertEqual(files & set(make_inputs.MADE), set())

    def test_each_program_is_built_and_has_a_case(self):
        self.assertEqual({case.program for case in self.cases}, set(PROGRAMS))

    def test_no_case_is_there_twice(self):
        names = [(case.program, case.name) for case in self.cases]
        self.assertEqual(len(names), len(set(names)))

    def test_the_command_names_the_input(self):
        for case in self.cases:
            self.assertIn(case.name, case.arguments())

    def test_there_are_as_many_as_the_page_says(self):
        self.assertGreaterEqual(len(self.cases), 90)
        self.assertGreaterEqual(len({case.program for case in self.cases}), 17)

    def test_what_is_fixed_and_what_is_published_is_a_case(self):
        names = {(case.program, case.name) for case in self.cases}
        self.assertLessEqual({(fix.program, fix.input) for fix in fixes.read_fixes()}, names)
        for results in (evaluate.KEPT, evaluate.KEPT.parent / "fixes.json"):
            published = json.loads(results.read_text())
            self.assertEqual(cases.without_others(published, self.cases), published)

    def test_options_in_a_comment_leave_the_line_that_ivl_reads(self):
        self.assertIn("generation:2012", (self.inputs / "ivl/pattern.v").read_text().splitlines())


class TestsAfterAFix(unittest.TestCase):
    def test_what_is_skipped_is_not_green(self):
        tests = [{"name": name, "before": before, "after": after} for name, before, after in (
            ("Frame0_Sum", "red", "green"), ("Frame1_Read", "red", "skipped"), ("Frame2_main", "red", "red"),
            ("DISABLED_Frame3_Old", "red", "green"), ("DISABLED_Frame4_Old", "red", "red otherwise"))]
        self.assertEqual(fixes.count(tests), {"enabled": 3, "green": 1, "disabled": 2, "disabled_green": 1, "wrong": 0})

    def test_what_was_not_red_before_is_wrong(self):
        counted = fixes.count([{"name": "Frame0_Sum", "before": "skipped", "after": "green"}])
        self.assertEqual((counted["green"], counted["wrong"]), (0, 1))


class PartOfASource(unittest.TestCase):
    """A mirror that answers 404 for Debian's own part of a package."""

    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.folder = pathlib.Path(place.name)
        self.asked = []

    def apt(self, has_tarball, command, download):
        self.asked.append(command)
        if "update" in command:
            return
        if "--tar-only" in command and has_tarball:
            (download / "thing-1").mkdir()
            (download / "thing-1/main.cc").write_text("int main() {}")
            subprocess.run(["tar", "-czf", "thing_1.orig.tar.gz", "thing-1"], cwd=download, check=True)
            return
        (download / "thing_1-1.dsc").write_text("names files that are not there")
        raise debian.Missing("404" + " for the tarball" * ("--tar-only" in command))

    def source(self, has_tarball):
        with unittest.mock.patch.object(debian, "run", lambda *args: self.apt(has_tarball, *args)):
            return debian.source("thing", "1-1", self.folder / "source")

    def test_is_built_from_the_tarball(self):
        self.assertTrue((self.source(has_tarball=True) / "main.cc").exists())

    def test_says_what_was_missing_first(self):
        with self.assertRaisesRegex(debian.Missing, "^404$"):
            self.source(has_tarball=False)


if __name__ == "__main__":
    unittest.main()
