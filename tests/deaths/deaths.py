#!/usr/bin/env python3
"""A program dies in every way, everywhere, in bad surroundings; each time the report is what it should be, and a test of it fails so.

  tests/deaths/deaths.py                     all cells of the matrix (matrix.py says which)
  tests/deaths/deaths.py --pairwise          each pair of two axes' values once at least
  tests/deaths/deaths.py --mode MODE [...]   those of one build alone
  tests/deaths/deaths.py --cell 'NullRead thread no_ptrace full 20' [--keep]
                                             this one; --keep leaves what it wrote
  tests/deaths/deaths.py --list [...]        print the cells

$RECRASH_JOBS cells run at a time (2). At the end it says which phase took how long: plain (without recrash), watched, show, reproduce.

Of each cell is asked: that the program ends as it does without recrash, with the same output (status); that no process and no file
is left (clean); that there is one report (report), that it says what failed (content), and that a test of the failing function ends
so, too (reproduces); of a report that the program had to write itself, that the same frames reproduce as of one by a collector (as
collected). What is known not to hold yet is in expected_failures.py, and fails the run once it holds.

With $RECRASH_TEST_USER root runs them as this user.

Exit codes: 0; 1 a cell is not as it should be; 2 usage; 4 the program cannot be built.
"""

import argparse
import collections
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import builds
import cells
import checks
import matrix


def read_cell(text):
    words = text.replace(",", " ").split()
    if len(words) != 5 or any(word not in map(str, axis) for word, axis in zip(words, matrix.AXES)):
        raise argparse.ArgumentTypeError("a cell is WAY CONTEXT SURROUNDINGS MODE OTHERS, as --list prints them")
    return matrix.Cell(*words[:4], int(words[4]))


def chosen(options):
    if options.cell:
        return options.cell
    every = matrix.pairwise() if options.pairwise else matrix.whole()
    return [cell for cell in every if not options.mode or cell.mode in options.mode]


def fast_folder():
    """In memory, where that is possible: cores are written."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def run(wanted, work, folder, jobs, keep):
    """All results. What is wrong is printed when it is seen."""
    results = []
    with ThreadPoolExecutor(jobs) as pool:
        for result in pool.map(lambda cell: cells.run(cell, work, folder, keep), wanted):
            results.append(result)
            for sentence in result.unexpected:
                print(f"{result.cell}: {' | '.join(sentence.split(chr(10)))}", flush=True)
    return results


def summary(results, seconds):
    refused = collections.Counter(result.refused for result in results if result.refused)
    lines = [f"{count} cells are skipped: {why}" for why, count in refused.items()]
    wrong = sum(bool(result.unexpected) for result in results)
    times = [result.collect_ms for result in results if result.collect_ms is not None]
    took = f"; signal to report {statistics.median(times):.1f} ms in the median" if times else ""
    lines.append(f"{len(results)} cells: {sum(result.listed for result in results)} fail as listed, {wrong} are wrong; "
                 f"{seconds:.0f} s{took}")
    phases = collections.Counter()
    for result in results:
        phases.update(result.seconds)
    lines.append("seconds, of all cells: " + ", ".join(f"{phase} {took:.0f}" for phase, took in phases.items()))
    return "\n".join(lines)


def main():
    if user := os.environ.get("RECRASH_TEST_USER"):
        checks.become(int(user))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairwise", action="store_true", help="few cells that have every pair of values")
    parser.add_argument("--mode", action="append", choices=matrix.MODES, help="of this build alone; may be given again")
    parser.add_argument("--cell", action="append", type=read_cell, help="this cell; may be given again")
    parser.add_argument("--keep", action="store_true", help="leave what the cells wrote, and say where")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write what each check found")
    parser.add_argument("--list", action="store_true", help="print the cells")
    parser.add_argument("--work", type=pathlib.Path, help="builds (default: build/deaths)")
    options = parser.parse_args()
    wanted = chosen(options)
    if options.list:
        return print("\n".join(map(str, wanted)))
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="deaths.", dir=fast_folder()) as folder, tempfile.TemporaryDirectory() as own:
        # Another user has no folder here.
        work = (options.work or (pathlib.Path(own) if user else builds.ROOT / "build/deaths")).resolve()
        try:
            for mode in dict.fromkeys([builds.PLAIN, *(cell.mode for cell in wanted)]):
                builds.build(mode, work)
        except builds.BuildFailed as error:
            print(error, file=sys.stderr)
            return 4
        place = work / "cells" if options.keep else pathlib.Path(folder)
        results = run(wanted, work, place, int(os.environ.get("RECRASH_JOBS", "2")), options.keep)
    print(summary(results, time.monotonic() - begin))
    if options.json:
        options.json.write_text(json.dumps([{"cell": str(one.cell), "wrong": one.wrong, "refused": one.refused,
                                             "collect_ms": one.collect_ms, "seconds": one.seconds} for one in results], indent=1))
    if options.keep:
        print(f"what they wrote is in {place}")
    return 1 if any(result.unexpected for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
