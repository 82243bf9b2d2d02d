#!/usr/bin/env python3
"""A page made of kept results says what the one said that was made of the results themselves."""

import json
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import document
import kept


def frame(index, verdict, **more):
    return {"index": index, "function": f"Function{index}(int)", "file": "/src/a.cc", "line": 7, "own": True, "monitored": True,
            "inlined": verdict is None, "verdict": verdict, "verdicts": [verdict], "stable": True, "note": f"said of {index}",
            "input_removed": verdict, "rerun": "returned", **more}


def result(program, name, mode="references", kind="null pointer", frames=()):
    return {"program": program, "input": name, "mode": mode, "kind": kind, "shipped": "SIGSEGV", "product": "0123", "crashed": True,
            "ended": "exit status -11, 1 reports", "failure": "SIGSEGV in Function0 at a.cc:7", "report_bytes": 5000,
            "report_ms": 12.0, "seconds": [1.5, 0.5], "said": "a lot, in /home/somebody/folder", "frames": list(frames)}


FRAMES = (frame(0, "reproduced"), frame(1, None), frame(2, "returned", rerun="reproduced"),
          frame(3, "different failure", note="SIGABRT in /home/somebody/x.cc"), frame(4, "reproduced", stable=False))
RESULTS = [
    result("tetgen", "a.node", frames=FRAMES),
    result("swig", "deep.i", kind="stack overflow", frames=[frame(i, ("reproduced", None, "returned")[i % 3]) for i in range(1200)]),
    {"program": "tetgen", "input": "b.node", "mode": "references", "kind": "abort", "shipped": "SIGABRT", "product": "0123",
     "crashed": False, "ended": "exit status 1, 0 reports"},
]
CASES = [("tetgen", "a.node"), ("tetgen", "b.node"), ("swig", "deep.i"), ("swig", "flat.i"), ("vvp", "c.vvp")]


class Kept(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.folder = pathlib.Path(place.name)
        self.file = self.folder / "results.json"

    def page(self, results):
        document.write(self.folder, results, CASES)
        return (self.folder / "evaluation.md").read_text(), (self.folder / "evaluation.svg").read_text()

    def test_the_page_is_the_same(self):
        kept.write(self.file, RESULTS)
        found = kept.gathered(self.file, [])
        self.assertEqual(self.page(found), self.page(sorted(RESULTS, key=kept.key)))
        before = self.file.read_text()
        kept.write(self.file, found)
        self.assertEqual(self.file.read_text(), before)

    def test_new_results_take_the_place_of_old_ones(self):
        kept.write(self.file, RESULTS)
        better = result("tetgen", "a.node", frames=FRAMES[:1])
        found = {kept.key(each): each for each in kept.gathered(self.file, [better])}
        self.assertEqual(len(found), 3)
        self.assertEqual(len(found[kept.key(better)]["frames"]), 1)

    def test_it_says_what_was_not_run(self):
        page, _ = self.page(RESULTS)
        self.assertIn("- `references`: swig flat.i, vvp\n- `full`: tetgen, swig, vvp\n", page)

    def test_it_is_small_and_knows_no_folders(self):
        kept.write(self.file, RESULTS)
        self.assertLess(len(self.file.read_text()), len(json.dumps(RESULTS)) / 20)
        self.assertNotIn("/home", self.file.read_text())


if __name__ == "__main__":
    unittest.main()
