#!/usr/bin/env python3
"""What the evaluation builds on: each case that we found has its input and its program, and sources come from a mirror that
holds only a part of them."""

import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import cases
import debian
from corpus import make_inputs
from corpus import programs

CORPUS = pathlib.Path(__file__).parent / "corpus"


class Corpus(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.inputs = pathlib.Path(place.name)
        make_inputs.write(self.inputs)
        self.cases = cases.read(CORPUS / "corpus.tsv", self.inputs)

    def test_each_case_has_its_input_and_no_input_is_without_a_case(self):
        self.assertEqual({case.name for case in self.cases}, {file.name for file in self.inputs.iterdir()})

    def test_each_program_is_built_and_has_a_case(self):
        self.assertEqual({case.program for case in self.cases}, set(programs.PROGRAMS))

    def test_no_case_is_there_twice(self):
        names = [(case.program, case.name) for case in self.cases]
        self.assertEqual(len(names), len(set(names)))

    def test_the_command_names_the_program_and_the_input(self):
        for case in self.cases:
            self.assertEqual(case.command.split()[0], case.program)
            self.assertIn(case.name, case.arguments())

    def test_options_in_a_comment_leave_the_line_that_ivl_reads(self):
        self.assertIn("generation:2012", (self.inputs / "pattern.v").read_text().splitlines())


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
