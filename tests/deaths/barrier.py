#!/usr/bin/env python3
"""Twenty threads fail at once, again and again: one report each time, no hang, and nothing left.

  tests/deaths/barrier.py                200 times each: without handlers of the program, with earlier ones that fail themselves, and
                                         with such ones that are installed after recrash
  tests/deaths/barrier.py --times 5
  tests/deaths/barrier.py --mode adaptive

Exit codes: 0; 1 a run is not as it should be; 2 usage; 4 the program cannot be built.
"""

import argparse
import os
import pathlib
import shutil
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import builds
import checks
import deaths
import matrix
import running
import ways

CONTEXTS = ("barrier", "barrier_earlier", "barrier_later")
THREADS = 21
# Fails every time; once it does not, strike it off.
EXPECTED_FAILURES = {}


def wrong(cell, ran, build, environment):
    """What is not as it should be, in sentences."""
    if ran.end is None:
        return ["it hung"]
    if ran.end["signal"] != ways.WAYS[cell.way].signal:
        return [f"it ended so: {ran.end}; it said {ran.errors!r}"]
    if len(ran.reports) != 1 or ran.reports[0].suffix != ".rcr":
        return [f"reports: {[file.name for file in ran.reports]}; it said {ran.errors!r}"]
    shown = checks.show(ran, build, environment)
    return list(checks.nothing_left(ran)) + ([shown] if isinstance(shown, str) else list(wrong_content(cell, ran, shown)))


def wrong_content(cell, ran, shown):
    way = ways.WAYS[cell.way]
    threads = [place["thread"] for place in ran.places]
    if shown["thread"] not in threads:
        yield f"thread {shown['thread']}, expected one of {threads}"
    if shown["threads"] != THREADS:
        yield f"{shown['threads']} threads, expected {THREADS}"
    if (shown["signal"], shown["code"] in way.codes) != (way.signal, True):
        yield f"signal {shown['signal']}, code {shown['code']}"
    yield from checks.says_who(way, shown)


def run(cell, number, work, folder):
    folder, build = folder / f"{cell.folder},{number}", work / "builds" / cell.mode
    ran = running.start(cell, work, folder, build, watched=True)
    found = wrong(cell, ran, build, running.environment(cell, work, folder, build, watched=False))
    shutil.rmtree(folder, ignore_errors=True)
    return [f"{cell}, run {number}: {sentence}" for sentence in found]


def holds(context, options, work, folder, pool):
    """Are all runs as they should be, or all wrong that are listed?"""
    cell = matrix.Cell("NullRead", context, "usual", options.mode, 0)
    found = list(pool.map(lambda number: run(cell, number, work, folder), range(options.times)))
    good, listed = found.count([]), EXPECTED_FAILURES.get(context)
    print(f"{context}: {good} of {options.times} runs are as they should be" + (f"; listed: {listed}" if listed else ""), flush=True)
    if listed:
        return good == 0
    for sentences in filter(None, found):
        print("\n".join(sentences))
    return good == options.times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=200)
    parser.add_argument("--mode", choices=matrix.MODES, default="references")
    parser.add_argument("--work", type=pathlib.Path, default=builds.ROOT / "build/deaths", help="builds (default: build/deaths)")
    options = parser.parse_args()
    begin, work = time.monotonic(), options.work.resolve()
    try:
        builds.build(options.mode, work)
    except builds.BuildFailed as error:
        print(error, file=sys.stderr)
        return 4
    with tempfile.TemporaryDirectory(prefix="barrier.", dir=deaths.fast_folder()) as folder, \
            ThreadPoolExecutor(int(os.environ.get("RECRASH_JOBS", "2"))) as pool:
        failed = [context for context in CONTEXTS if not holds(context, options, work, pathlib.Path(folder), pool)]
    print(f"{time.monotonic() - begin:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
