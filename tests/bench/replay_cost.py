#!/usr/bin/env python3
"""What verifying a folder of tests costs with one installed recrash, against another.

  tests/bench/replay_cost.py BEFORE/bin/recrash AFTER/bin/recrash FOLDER [PAIRS]

FOLDER is what `recrash generate REPORT -o FOLDER` wrote; the two verify copies of it in turn, PAIRS times (20)."""

import pathlib
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time


def verify(recrash, folder):
    """Seconds of the clock and of CPU, the children's included."""
    with tempfile.TemporaryDirectory() as work:
        copy = pathlib.Path(work) / "tests"
        shutil.copytree(folder, copy)
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        subprocess.run([recrash, "verify", copy, "--no-build"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        clock, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
        return clock, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(before, after, folder, pairs=20):
    ratios = []
    for i in range(int(pairs)):
        first, second = (before, after) if i % 2 else (after, before)
        took = {first: verify(first, folder)}
        took[second] = verify(second, folder)
        ratios.append([mine / theirs for mine, theirs in zip(took[after], took[before])])
    for name, column in zip(("clock", "CPU"), zip(*ratios)):
        low, middle, high = statistics.quantiles(column, n=4)
        print(f"{name}: {middle:.3f} (quartiles {low:.3f} to {high:.3f})")


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    main(*sys.argv[1:])
