#!/usr/bin/env python3
"""A frame that reproduces in some replays and not in others gets no test, and is said to be so."""

import json
import re

from harness import Workspace, main, short_name

# Null once 30 steps and Last have been taken; a replay of a Step counts more of them, and then the clock decides.
PROGRAM = """
#include <cstdint>
#include <cstdio>
#include <x86intrin.h>
uint64_t steps = 0;
__attribute__((noinline)) int Last(int* where) {
  uint64_t bits = __rdtsc() * 0x9e3779b97f4a7c15;
  bits = (bits ^ bits >> 29) * 0xbf58476d1ce4e5b9;
  return steps <= 30 || bits >> 40 & 1 ? *where : 0;
}
__attribute__((noinline)) int Step(int left, int* where) {
  ++steps;
  return (left ? Step(left - 1, where) : Last(where)) + left;
}
int main(int argc, char**) { std::printf("%d\\n", Step(29, argc > 5 ? &argc : nullptr)); }
"""
SIGSEGV = 11


class Unstable(Workspace):
    def setUp(self):
        super().setUp()
        self.program = self.compile_text(PROGRAM, flags=("-O1", "-g", "-fno-optimize-sibling-calls"))
        self.report = self.crash(self.program, died_of=SIGSEGV)

    def of_verdict(self, result, verdict):
        return [frame for frame in result["frames"] if frame["verdict"] == verdict]

    # That none of the 31 frames is unstable comes once in two million times.
    def test_has_no_test_and_is_named(self):
        result = self.reproduce(self.program)
        unstable = self.of_verdict(result, "unstable")
        self.assertTrue(unstable, json.dumps(result, indent=1))
        tests = (self.path / "tests" / "crash_test.cc").read_text()
        for frame in unstable:
            self.assertFalse(frame["test"])
            self.assertEqual(frame["runs"], 3)
            self.assertRegex(frame["note"], r"^reproduced in [12] of 3 runs; else returned$")
            self.assertNotRegex(tests, rf"TEST\(CrashTest, Frame{frame['index']}_")
        self.assertRegex(self.output.stdout, r"unstable: reproduced in [12] of 3 runs; else returned\n")
        numbers = ", ".join(str(frame["index"]) for frame in unstable)
        self.assertIn(f"these frames reproduce in some runs only, and have no test: {numbers}\n", self.output.stderr)

        stable = self.of_verdict(result, "reproduced")
        self.assertIn("Last", [short_name(frame["function"]) for frame in stable])
        self.assertTrue(all(frame["test"] and frame["runs"] == 3 for frame in stable))
        self.assertEqual(len(re.findall(r"^TEST\(", tests, re.M)), len(stable))

    def test_runs_are_as_many_as_one_says(self):
        once = self.reproduce(self.program, "--runs", "1")
        self.assertFalse(self.of_verdict(once, "unstable"))
        self.assertGreater(len(self.of_verdict(once, "reproduced")), 1)
        # In 20 runs a frame of these never stays the same.
        often = self.reproduce(self.program, "--runs", "20")
        self.assertEqual({short_name(frame["function"]) for frame in self.of_verdict(often, "reproduced")}, {"Last"})


if __name__ == "__main__":
    main()
