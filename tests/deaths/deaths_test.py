#!/usr/bin/env python3
"""The harness sees what is wrong; it builds nothing."""

import dataclasses
import pathlib
import tempfile
import unittest

import cells
import checks
import expected_failures
import matrix
import running
import ways

CELL = matrix.Cell("NullRead", "main", "usual", "references", 0)
AT = "at 0x1000, address 0 0, process 5, thread 5\n"
END = {"exit": -1, "signal": 11, "core": 1, "left": 0, "seconds": 0.1}
SHOWN = {"signal": 11, "code": 1, "address": 0, "pc": 0x1004, "process": 5, "thread": 5, "threads": 1, "message": "", "exception": None,
         "reason": "", "frames": [{"function": "deaths::NullRead(deaths::Box*)", "file": str(checks.builds.FOLDER / "ways.cc")}]}


def ran(folder="/nonexistent", end=END, output=AT, errors=""):
    return running.Ran(pathlib.Path(folder), end, output, errors)


class Matrix(unittest.TestCase):
    def test_has_each_pair(self):
        found = {pair for cell in matrix.pairwise() for pair in matrix.pairs_of(dataclasses.astuple(cell))}
        self.assertEqual(set(matrix.all_pairs()) - found, set())

    def test_has_no_cell_that_is_impossible_or_there_twice(self):
        whole = matrix.whole()
        self.assertEqual(len(whole), len(set(whole)))
        self.assertTrue(all(matrix.possible(dataclasses.astuple(cell)) for cell in whole))
        self.assertGreater(len(whole), 600)

    def test_names_ways_that_the_program_has(self):
        text = (checks.builds.FOLDER / "ways.cc").read_text()
        for name in ways.WAYS:
            word = name.replace("Raise_", "RAISE(") if name.startswith("Raise_") else f"ENTRY({name},"
            self.assertIn(word, text)


class Checks(unittest.TestCase):
    def said(self, check):
        return "; ".join(check)

    def test_status(self):
        self.assertEqual(self.said(checks.as_without_recrash(ran(), ran())), "")
        for wrong in ("exit", "signal", "core"):
            self.assertIn(wrong, self.said(checks.as_without_recrash(ran(), ran(end={**END, wrong: 7}))))
        self.assertIn("hung", self.said(checks.as_without_recrash(ran(), ran(end=None))))
        self.assertIn("output", self.said(checks.as_without_recrash(ran(), ran(output=AT + "more"))))
        self.assertIn("stderr", self.said(checks.as_without_recrash(ran(), ran(errors="more"))))
        ours = "recrash: report in x\nrecrash-collector: error: y\n  needed: z\n"
        self.assertEqual(self.said(checks.as_without_recrash(ran(errors="own\n"), ran(errors=ours + "own\n"))), "")

    def test_what_is_left(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for each in ("run", "tmp", "reports", "profile"):
                (folder / each).mkdir()
            (folder / "reports/a.rcr").touch()
            (folder / "run/core").touch()
            self.assertEqual(self.said(checks.nothing_left(ran(folder))), "")
            self.assertIn("core", self.said(checks.nothing_left(ran(folder, end={**END, "core": 0}))))
            self.assertIn("processes", self.said(checks.nothing_left(ran(folder, end={**END, "left": 1}))))
            for file in ("reports/a.rcr.part", "run/other", "tmp/x", "profile/x"):
                (folder / file).touch()
                self.assertIn(pathlib.Path(file).name, self.said(checks.nothing_left(ran(folder))))
                (folder / file).unlink()

    def test_report(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "reports").mkdir()
            self.assertIn("0 reports", self.said(checks.has_report(CELL, ran(folder))))
            (folder / "reports/a.rcraw").touch()
            self.assertIn("raw", self.said(checks.has_report(CELL, ran(folder))))
            self.assertEqual(self.said(checks.has_report(dataclasses.replace(CELL, surroundings="no_collector"), ran(folder))), "")
            self.assertIn("1 reports", self.said(checks.has_report(dataclasses.replace(CELL, way="Nothing"), ran(folder))))

    def content(self, **changed):
        with tempfile.TemporaryDirectory() as name:
            (pathlib.Path(name) / "reports").mkdir()
            (pathlib.Path(name) / "reports/a.rcr").touch()
            place = ran(name)
            way, shown = ways.WAYS[CELL.way], SHOWN | changed
            return self.said([*checks.says_how(CELL, place, shown), *checks.says_where(way, place.place, shown, {"NullRead": 8}, True),
                              *checks.says_who(way, shown)])

    def test_content(self):
        self.assertEqual(self.content(), "")
        for name, value in {"signal": 6, "code": 2, "address": 8, "pc": 0x1008, "process": 6, "thread": 6, "threads": 2,
                            "exception": {"type": "int", "what": ""}, "reason": "x"}.items():
            self.assertIn(name, self.content(**{name: value}))
        self.assertIn("Outer", self.content(frames=[{**SHOWN["frames"][0], "function": "deaths::Outer(deaths::Box*)"}]))

    def test_a_program_that_survives_says_nothing(self):
        self.assertEqual(self.said(checks.dies(CELL, ran())), "")
        self.assertIn("does not end", self.said(checks.dies(CELL, ran(end={**END, "signal": 0, "exit": 6}))))


class ExpectedFailures(unittest.TestCase):
    def setUp(self):
        before = expected_failures.EXPECTED
        self.addCleanup(setattr, expected_failures, "EXPECTED", before)
        expected_failures.EXPECTED = (expected_failures.Expected("why", ("report",), way=("NullRead",), may_fail=("status",)),)

    def unexpected(self, **wrong):
        return cells.Result(CELL, wrong).unexpected

    def test_are_strict(self):
        self.assertEqual(self.unexpected(report=["none"], status=["other"]), [])
        self.assertEqual(self.unexpected(report=["none"], status=[]), [])
        self.assertIn("why", self.unexpected(report=[], status=[])[0])
        self.assertIn("left", self.unexpected(report=["none"], clean=["left"])[0])

    def test_of_another_cell_count_nothing(self):
        other = cells.Result(dataclasses.replace(CELL, way="NullWrite"), {"report": ["none"]})
        self.assertEqual(len(other.unexpected), 1)


if __name__ == "__main__":
    unittest.main()
