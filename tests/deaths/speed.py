#!/usr/bin/env python3
"""How long a report takes: from the signal until all that is in it was read, and how much longer the program lives. No test: it prints.

  tests/deaths/speed.py [--times 20] [--mode MODE]

Rows: each way to die in a small program; 64 MiB of heap; 100 threads that compute; 20 threads that fail at once. No core is written.
"""

import argparse
import pathlib
import shutil
import statistics
import sys
import tempfile

import builds
import checks
import deaths
import matrix
import running
import ways

ROWS = {"a small program, each way to die": ("main", None), "64 MiB of heap": ("large_heap", "NullRead"),
        "100 threads that compute": ("busy", "NullRead"), "20 threads that fail at once": ("barrier", "NullRead")}


def lifetime(cell, work, folder, build, watched):
    """Seconds of the program's life, and what `recrash show` says of the report."""
    shutil.rmtree(folder, ignore_errors=True)
    ran = running.start(cell, work, folder, build, watched)
    if not watched:
        return ran.end["seconds"], None
    shown = checks.show(ran, build, running.environment(cell, work, folder, build, watched=False)) if ran.reports else None
    return ran.end["seconds"], shown if isinstance(shown, dict) and shown["collect_ms"] else None


def measured(context, names, options, work, folder):
    """[(milliseconds until the report was read, milliseconds that the program lived longer, bytes)]"""
    found = []
    for name in names:
        cell = matrix.Cell(name, context, "no_core", options.mode, 0)
        for _ in range(options.times):
            plain, _ = lifetime(cell, work, folder, builds.build(builds.PLAIN, work), watched=False)
            seconds, shown = lifetime(cell, work, folder, builds.build(cell.mode, work), watched=True)
            if shown:
                found.append((shown["collect_ms"], (seconds - plain) * 1e3, shown["report_bytes"]))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=20, help="runs of each program")
    parser.add_argument("--mode", choices=matrix.MODES, default="references")
    parser.add_argument("--work", type=pathlib.Path, default=builds.ROOT / "build/deaths", help="builds (default: build/deaths)")
    options = parser.parse_args()
    work = options.work.resolve()
    print("| | reports | signal to report, ms: median | longest | lives longer, ms: median | longest | report, KiB |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory(prefix="speed.", dir=deaths.fast_folder()) as folder:
        for title, (context, name) in ROWS.items():
            names = [name] if name else [way.name for way in ways.WAYS.values() if way.signal]
            found = measured(context, names, options, work, pathlib.Path(folder) / "cell")
            if not found:
                return print(f"| {title} | 0 | | | | | |")
            collect, longer, size = zip(*found)
            print(f"| {title} | {len(found)} | {statistics.median(collect):.1f} | {max(collect):.0f} | {statistics.median(longer):.1f} | "
                  f"{max(longer):.0f} | {statistics.median(size) / 1024:.0f} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
