#!/usr/bin/env python3
"""How long `recrash reproduce` takes from a report to verified, built tests.

  tests/bench/report_to_tests.py PREFIX/bin/recrash [--before BEFORE/bin/recrash] [--runs N] [--work DIR] [CASE…]

A case is a small program: NAME@LEVEL, or NAME@LEVEL+rerun, as archive@-O0+rerun. Without any, those of CASES. Each is built and
crashed once. The table has the tests that a case gets, the median of seconds on the clock and of processor time, and how
much of the latter building and running the tests takes. With --before the two take turns, and the last columns are ratios to it.

The clock says little on a machine that is not quiet: the load is printed above the table."""

import argparse
import dataclasses
import os
import pathlib
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests/rebuilds"))

import small_programs

DRIVER = ROOT / "tests/bench/drivers/many_frames.cc"  # 164 frames that reproduce, ten tests
CASES = ("many_frames@-O1", "missing_url@-O2", "archive@-O2", "interpreter@-O2", "interpreter@-O0+rerun", "editor@-O0+rerun",
         "deep_destruction@-O2", "deep_destruction@-O0+rerun", "endless_recursion@-O2")


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    level: str
    rerun: bool

    @staticmethod
    def read(text):
        found = re.fullmatch(r"(\w+)@(-O\w)(\+rerun)?", text)
        if not found:
            sys.exit(f"{text}: a case is NAME@LEVEL or NAME@LEVEL+rerun, as archive@-O2")
        return Case(found[1], found[2], bool(found[3]))


@dataclasses.dataclass(frozen=True)
class Cost:
    clock: float
    cpu: float
    tests: int


def source_of(name):
    """(file, flags, input)"""
    if name == DRIVER.stem:
        return DRIVER, ("-fno-optimize-sibling-calls",), None
    program = small_programs.all_programs().get(name)
    if not program or program.library or program.is_c:
        sys.exit(f"{name}: not one of the small programs that one command builds")
    return program.file, program.flags, program.input


def crash(case, prefix, folder):
    """(report, program)"""
    source, flags, given = source_of(case.name)
    program = folder / case.name
    subprocess.run([prefix / "bin/recrash-clang++", "-std=c++20", "-g", "-w", case.level, *flags, source, "-o", program], check=True)
    words = [program]
    if given is not None:
        (folder / "input").write_text(given)
        words.append("input")
    for _ in range(100):  # until it fails
        subprocess.run(words, cwd=folder, env={**os.environ, "RECRASH_DIR": str(folder)}, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        if reports := list(folder.glob("*.rcr")):
            return reports[0], program
    sys.exit(f"{case.name}: left no report")


def reproduce(recrash, case, report, program, built=True):
    with tempfile.TemporaryDirectory(dir=report.parent) as work:
        tests = pathlib.Path(work) / "tests"
        command = [recrash, "reproduce", report, "--program", program, "-o", tests]
        command += ["--rerun", "--yes"] if case.rerun else []
        command += [] if built else ["--no-build"]
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        subprocess.run(command, cwd=report.parent, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        clock, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
        source = tests / "crash_test.cc"
        count = len(re.findall(r"^TEST\(", source.read_text(), re.MULTILINE)) if source.exists() else 0
        if built and not (tests / "build/crash_test").exists():
            sys.exit(f"{case.name}: its tests were not built")
        return Cost(clock, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, count)


def median(costs, figure):
    return statistics.median(getattr(cost, figure) for cost in costs)


def measure(case, recrash, before, runs, work):
    with tempfile.TemporaryDirectory(dir=work) as folder:
        sides = []  # of each its own crash: an older one does not read reports of a newer one
        for one in filter(None, (recrash, before)):
            place = pathlib.Path(folder) / str(len(sides))
            place.mkdir()
            sides.append((one, *crash(case, one.parent.parent, place), []))
        for i in range(runs):
            for one, report, program, costs in sides[::1 if i % 2 else -1]:
                costs.append(reproduce(one, case, report, program))
        now, then = sides[0][3], sides[-1][3]
        unbuilt = [reproduce(recrash, case, *sides[0][1:3], built=False) for _ in range(runs)]
    building = median(now, "cpu") - median(unbuilt, "cpu")
    row = [f"{case.name} {case.level}{' --rerun' if case.rerun else ''}", now[0].tests, f"{median(now, 'clock'):.2f}",
           f"{median(now, 'cpu'):.2f}", f"{building:.2f}"]
    if before:
        row += [f"{statistics.median(getattr(a, what) / getattr(b, what) for a, b in zip(now, then)):.2f}"
                for what in ("clock", "cpu")]
    print("| " + " | ".join(map(str, row)) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recrash", type=pathlib.Path)
    parser.add_argument("cases", nargs="*", metavar="CASE")
    parser.add_argument("--before", type=pathlib.Path, help="another installed recrash")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()))
    options = parser.parse_intermixed_args()
    cases = [Case.read(text) for text in options.cases or CASES]
    print(f"load {os.getloadavg()[0]:.1f}, {len(os.sched_getaffinity(0))} processors, medians of {options.runs} runs\n")
    columns = ["case", "tests", "clock", "CPU", "of it building"] + (["clock, ratio", "CPU, ratio"] if options.before else [])
    print("| " + " | ".join(columns) + " |\n|" + " --- |" * len(columns))
    for case in cases:
        measure(case, options.recrash.resolve(), options.before and options.before.resolve(), options.runs, options.work)


if __name__ == "__main__":
    main()
