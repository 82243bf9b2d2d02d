#!/usr/bin/env python3
"""bench.py sees a cost that is known, measures nothing twice, and makes a page of results with gaps. It measures none of the
programs that it is for, and no figure of this machine decides."""

import contextlib
import io
import json
import os
import pathlib
import shutil
import tempfile
import unittest
import unittest.mock

import bench
import builds
import debian
import measure
import page
import variants
from programs import Program
from subjects import Subject

# What COSTS makes it do more is far more than any machine could be off.
PROGRAM = r"""
#include <cstdio>
#include <cstdlib>
#include <cstring>
#ifdef COSTS
constexpr int kTimes = 20;
const char table[1 << 20] = {1};
#else
constexpr int kTimes = 1;
const char table[] = {1};
#endif
int main(int argc, char** argv) {
  volatile long sum = 0;
  for (long i = 0; i < kTimes * std::atol(argv[1]); ++i) sum = sum + 1;
  char* memory = static_cast<char*>(std::malloc(kTimes << 20));
  std::memset(memory, argc, kTimes << 20);
  std::printf("%d\n", memory[argc] + table[argc - 2]);
#ifdef DIFFERS
  std::puts("something else");
#endif
#ifdef FAILS
  std::fputs("a reason\n", stderr);
  return 7;
#endif
  return 0;
}
"""


class Harness(unittest.TestCase):
    def setUp(self):
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="recrash-bench-test."))
        self.addCleanup(shutil.rmtree, self.work)
        (self.work / "a.cc").write_text(PROGRAM)
        # As make and ninja: what is there is not made again.
        self.subject = Subject(Program("", "", "", f'test -e a || {{ "$CXX" $FLAGS "{self.work}/a.cc" -o a; echo >> made; }}', "a"),
                               large=("4000000",), small=("200000",), units=(f"{self.work}/a.cc",))
        self.passes, self.agent = {"references": "1", "full": "1"}, "1"  # what stands for the content of pass and agent
        self.flags = {"references": "-DCOSTS"}
        self.patch("variants.identity", lambda work, build: {"compiler": self.passes.get(build, ""),
                                                             "agent": self.agent if build != "plain" else ""})
        self.patch("variants.compilers", lambda work, build: ("clang-19", "clang++-19", f"-O2 -w {self.flags.get(build, '')}"))
        self.patch("building.holds_map", lambda file: True)
        self.patch("bench.say", lambda text: None)

    def patch(self, what, by):
        patched = unittest.mock.patch(what, by)
        patched.start()
        self.addCleanup(patched.stop)

    def measured(self, *kinds, chosen=("references", "full"), rounds=1):
        """The results after measuring anew what has to be; what was said to stderr; how many builds and runs failed."""
        results = bench.Results(self.work / "results.json")
        program = bench.Program(self.work, "a", self.subject, chosen, results)
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            program.build()
            for kind in kinds:
                getattr(program, kind)(*{"time": (rounds, self.subject.large), "compile": (1,)}.get(kind, ()))
        return page.Results({"pugixml": results.all}), said.getvalue(), program.failed

    def made(self, build):
        return len((self.work / "a" / build / "made").read_text())

    def test_a_known_cost_is_seen_and_none_where_there_is_none(self):
        found, _, failed = self.measured("sizes", "time", "compile", rounds=3)
        self.assertEqual(failed, 0)
        self.assertGreater(found.median("pugixml", "references", "time"), 4)
        self.assertLess(found.median("pugixml", "full", "time"), 4)
        self.assertGreater(found.peak("pugixml", "references"), 3)
        self.assertLess(found.peak("pugixml", "full"), 1.5)
        sizes = {name: found.of("pugixml", name, "sizes")["loaded"] for name in ("plain", "references", "full")}
        self.assertGreater(sizes["references"] - sizes["plain"], 1 << 19)
        self.assertEqual(sizes["full"], sizes["plain"])
        self.assertTrue(found.ratios("pugixml", "references", "compile"))

    def test_what_is_slow_runs_once(self):
        found, _, _ = self.measured("time", rounds=3)
        self.assertEqual([len(found.rounds("pugixml", name, "time")) for name in ("references", "full")], [1, 3])

    @unittest.skipUnless(shutil.which("valgrind"), "needs valgrind")
    def test_instructions(self):
        found, _, failed = self.measured("instructions")
        self.assertEqual(failed, 0)
        self.assertGreater(found.instructions("pugixml", "references"), 1.5)
        self.assertEqual(f"{found.instructions('pugixml', 'full'):.3f}", "1.000")

    def test_what_is_known_is_not_done_again_and_another_pass_is(self):
        self.measured("sizes", "time")
        with unittest.mock.patch("measure.launch", side_effect=AssertionError("measured again")):
            self.measured("sizes", "time")
        self.assertEqual([self.made(build) for build in ("plain", "references", "full")], [1, 1, 1])

        self.passes["references"], self.flags["references"] = "2", ""
        seen = []
        launch = measure.launch
        with unittest.mock.patch("measure.launch", lambda work, command, *rest: seen.append(str(command[0])) or launch(work, command, *rest)):
            found, _, _ = self.measured("sizes", "time")
        self.assertEqual(sorted(pathlib.Path(name).parent.name for name in seen), ["plain", "references"])
        self.assertLess(found.median("pugixml", "references", "time"), 4)
        self.assertEqual(self.made("references"), 1)  # in a folder that was emptied

    def test_another_agent_only_links_again(self):
        self.measured()
        self.agent = "2"
        self.measured()
        self.assertEqual([self.made(build) for build in ("plain", "references")], [1, 2])

    def test_a_build_that_fails_is_said_and_the_others_go_on(self):
        self.flags["full"] = "-no-such-option"
        found, said, failed = self.measured("sizes", "time")
        self.assertEqual(failed, 1)
        self.assertIn("full.log", said)
        self.assertTrue(found.rounds("pugixml", "references", "time"))
        self.assertFalse(found.rounds("pugixml", "full", "time"))

    def test_a_program_that_does_something_else_has_no_ratio(self):
        self.flags["full"] = "-DDIFFERS"
        found, said, failed = self.measured("time")
        self.assertEqual(failed, 1)
        self.assertIn("something else", said)
        self.assertIsNone(found.median("pugixml", "full", "time"))
        self.assertIn("something else", found.of("pugixml", "full", "time")["words"])

    def test_a_run_that_fails_is_said_and_the_others_go_on(self):
        self.flags["full"] = "-DFAILS"
        found, said, failed = self.measured("time")
        self.assertEqual(failed, 1)
        self.assertIn("exit status 7: a reason", said)
        self.assertTrue(found.rounds("pugixml", "references", "time"))


class Launcher(unittest.TestCase):
    def test_time_and_memory_are_those_of_the_program(self):
        with tempfile.TemporaryDirectory() as place:
            work = pathlib.Path(place)
            ballast = bytearray(64 << 20)  # ours must not be in its figures
            run = measure.launch(work, ["sh", "-c", "exit 3"], dict(os.environ), work)
            del ballast
        self.assertEqual(run.outcome, "exit status 3")
        self.assertLess(run.peak_kib, 32 << 10)

    def test_a_run_that_takes_too_long_is_ended(self):
        with tempfile.TemporaryDirectory() as place:
            work = pathlib.Path(place)
            self.assertEqual(measure.launch(work, ["sleep", "1000"], dict(os.environ), work, seconds=1).outcome, "timed out")


READELF = """Section Headers:
  [Nr] Name              Type            Address          Off    Size   ES Flg Lk Inf Al
  [ 0]                   NULL            0000000000000000 000000 000000 00      0   0  0
  [ 1] .interp           PROGBITS        0000000000000318 000318 00001c 00   A  0   0  1
  [11] .text             PROGBITS        0000000000001050 001050 000100 00  AX  0   0 16
  [12] .tbss             NOBITS          0000000000003000 003000 000010 00 WAT  0   0  8
  [13] .bss              NOBITS          0000000000004000 003000 000040 00  WA  0   0 32
  [14] recrash_map       PROGBITS        0000000000000000 003000 100000 00      0   0  1
  [15] .comment          PROGBITS        0000000000000000 003010 000026 01  MS  0   0  1
"""


class Sizes(unittest.TestCase):
    def test_what_is_loaded_counts_and_nothing_else(self):
        self.assertEqual(measure.sections(READELF), {"loaded": 0x1c + 0x100 + 0x40, "text": 0x100})


def one(count=None, seconds=(), loaded=None, compilation=()):
    found = {}
    if count:
        found["instructions"] = {"count": count}
    if seconds:
        found["time"] = {"rounds": [{"user": taken, "plain": 1.0, "peak_kib": 100, "plain_peak_kib": 100} for taken in seconds]}
    if loaded:
        found["sizes"] = {"loaded": loaded, "text": loaded, "file": loaded}
    if compilation:
        found["compile"] = {"rounds": [{"user": taken, "plain": 1.0} for taken in compilation]}
    return found


class Page(unittest.TestCase):
    def text(self, found):
        with tempfile.TemporaryDirectory() as folder:
            page.write(pathlib.Path(folder), found)
            return (pathlib.Path(folder) / "benchmarks.md").read_text(), (pathlib.Path(folder) / "benchmarks.svg").read_text()

    def test_of_no_results_there_is_a_page(self):
        text, plot = self.text({})
        self.assertNotIn("nan", text)
        self.assertTrue(plot.startswith("<svg"))

    def test_gaps_are_dashes_and_means_say_over_how_many(self):
        text, plot = self.text({
            "pugixml": {"plain": one(1000, (1.0,), 1000), "references": one(1020, (1.1, 0.9, 1.0), 1030, (1.2,)), "full": one(1040)},
            "leveldb": {"plain": one(1000), "references": one(1040)},
            "fibonacci": {"plain": one(1000), "references": one(2000)},
            "runtime": {"plain": {"empty": {"loaded": 10, "text": 10, "file": 10}}, "references": {"empty": {"loaded": 20, "text": 20, "file": 20}}}})
        self.assertIn("| pugixml | 1.020 | 1.040 | - |", text)
        self.assertIn("| leveldb | 1.040 | - | - |", text)
        self.assertIn("| **geometric mean** | **1.030** | **1.040** (1 of 2) |", text)
        self.assertIn("| pugixml | 1.000 (0.90 to 1.10) | - |", text)
        self.assertIn("| pugixml | 1.020 | - |", text)  # 1030 less the 10 that are linked in
        self.assertIn("| at most 2.5 % | 3.0 % |", text)
        self.assertIn("geometric mean over 2 programs", text)  # the worst case is not in it
        self.assertIn(">+100.0<", plot)

    def test_what_went_wrong_is_said_below(self):
        text, _ = self.text({"pugixml": {"plain": one(1000), "asan": {"time": {"words": "signal 6: <bad>"}}}})
        self.assertIn("- pugixml, AddressSanitizer: signal 6: \\<bad\\>.", text)

    def test_tools_that_were_stopped_or_refused(self):
        results = page.Results({"pugixml": {"plain": one(1000), "memcheck": {"tool": {"plain": 0.5, "seconds": 20.0}},
                                            "ltrace": {"tool": {"plain": 0.5, "more_than": 600}},
                                            "uftrace": {"tool": {"plain": 0.5, "words": "signal 11"}}}})
        self.assertIn("| pugixml | 40.0 | does not run | more than 1,200 | - |", page.tool_table(results))


class Published(unittest.TestCase):
    def test_results_without_the_machine_and_those_that_are_known_elsewhere(self):
        with tempfile.TemporaryDirectory() as place:
            folder = pathlib.Path(place)
            (folder / "kept").write_text(json.dumps({
                "pugixml": {"plain": {"sizes": {"text": 5}, "compile": {"rounds": []}}}, "cppcheck": {"plain": {"sizes": {"text": 2}}}}))
            (folder / "pugixml.json").write_text(json.dumps(
                {"plain": {"sizes": {"key": ["-I/home/me/a"], "text": 1}, "time": {"key": [], "words": "no /home/me/b there"}}}))
            self.assertEqual(bench.gathered(folder, folder / "kept"), {
                "pugixml": {"plain": {"sizes": {"text": 1}, "compile": {"rounds": []}, "time": {"words": "no b there"}}},
                "cppcheck": {"plain": {"sizes": {"text": 2}}}})


class Ends(unittest.TestCase):
    def test_what_is_not_to_be_had_is_4(self):
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch("sys.argv", ["bench.py", "--work", folder, "fibonacci"]), \
                unittest.mock.patch("debian.install", side_effect=debian.Missing("packages are missing")), \
                contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertEqual(bench.main(), 4)
        self.assertIn("packages are missing", said.getvalue())


if __name__ == "__main__":
    unittest.main()
