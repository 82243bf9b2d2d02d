#!/usr/bin/env python3
"""How many frames of the programs' own source have a test, as the programs are built and with what helps; each that has none, and why.

  tests/rebuilds/own_frames.py [--work DIR] [PROGRAM…]    prints a line for each frame without a test, and the sums

Frames of the C++ library's headers do not count, nor do stack overflows: their frames are all alike. A program that no test can be
made of counts with all the frames that `recrash show` lists.
"""

import argparse
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests/real"))

import builds
import page
import rebuilds
import small_programs

TWIN = builds.Rebuild("twin", ("-O0", "-fno-inline"))


@dataclasses.dataclass(frozen=True)
class Way:
    name: str
    level: str
    options: tuple = ()


WAYS = (Way("-O2", "-O2"), Way("-O2, a twin", "-O2", ("--twin",)), Way("-O2, run again", "-O2", ("--rerun",)),
        Way("-O2, run again, a twin", "-O2", ("--rerun", "--twin")), Way("-O0, run again", "-O0", ("--rerun",)))


def result_of(program, way, executable, twin, report, folder):
    """What --json says; nothing if no test could be made."""
    tests, result = folder / "tests", folder / "own_frames.json"
    shutil.rmtree(tests, ignore_errors=True)
    result.unlink(missing_ok=True)
    options = [word for option in way.options for word in ([option, twin] if option == "--twin" else [option])]
    done = subprocess.run(["recrash", "reproduce", report, "--program", executable, "-o", tests, "--no-build", "--json", result, *options],
                          cwd=folder, env=rebuilds.environment(folder), text=True, timeout=600, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace")
    (folder / "own_frames.txt").write_text(done.stdout)
    if result.exists():
        return json.loads(result.read_text())
    shown = subprocess.run(["recrash", "show", report, "--program", executable, "--json", "-"], env=rebuilds.environment(folder), text=True,
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True)
    why = next((line for line in done.stdout.splitlines() if "error" in line), done.stdout)
    frames = json.loads(shown.stdout)["frames"]
    lost = {"own": True, "inlined": False, "test": False, "verdict": None, "note": why}
    return {"failure": "", "frames": [{**frame, **lost} for frame in frames if frame.get("file", "").startswith("/")]}


def measure(program, work):
    """Way -> the frames of the program's own source."""
    sources, crashes, found = rebuilds.place(work, program.name, "sources"), {}, {}
    twin = TWIN.make(program, builds.ORIGINS["-O2"], sources, rebuilds.place(work, program.name, "builds", "twin"))
    for way in WAYS:
        built = builds.Rebuild(f"clang {way.level}", (way.level,))
        executable = built.make(program, builds.ORIGINS["-O2"], sources, rebuilds.place(work, program.name, *built.place(None)))
        folder = rebuilds.place(work, program.name, "own " + way.name)
        folder.mkdir(parents=True, exist_ok=True)
        if way.level not in crashes:
            shutil.rmtree(folder / "crash", ignore_errors=True)
            crashes[way.level] = rebuilds.crash(program, executable, folder / "crash")
        result = result_of(program, way, executable, twin, crashes[way.level], folder)
        if "stack overflow" not in result["failure"] and len(result["frames"]) <= page.MOST_FRAMES:
            found[way] = rebuilds.own_source(result)
    return found


def measured(program, work):
    try:
        return measure(program, work)
    except (rebuilds.Failed, builds.BuildFailed, subprocess.SubprocessError) as error:
        return str(error)


def missing(program, way, frame):
    inlined = "inlined, " if frame["inlined"] else ""
    why = frame["note"] if frame["verdict"] in (None, "returned") else f"{frame['verdict']}: {frame['note']}"
    return f"{program.name}, {way.name}: {frame['function']}, line {frame['line']}: {inlined}{why}"


def sums(found):
    rows = []
    for way in WAYS:
        frames = [frame for ways in found.values() for frame in ways.get(way, ())]
        tested = sum(frame["test"] for frame in frames)
        rows.append((way.name, len(frames), tested, 100 * tested / max(1, len(frames))))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="PROGRAM", help="programs or groups: cpp, far, samples (default: cpp)")
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build/rebuilds")
    options = parser.parse_args()
    wanted = set(options.names or ("cpp",))
    chosen = [program for program in small_programs.all_programs().values() if {program.name, program.group} & wanted]
    found, lines, failed = {}, [], []
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("RECRASH_JOBS", "2"))) as pool:
        for program, ways in zip(chosen, pool.map(lambda program: measured(program, options.work.resolve()), chosen)):
            if isinstance(ways, str):
                failed.append(f"{program.name}: {ways}")
                print(failed[-1], flush=True)
                continue
            found[program] = ways
            for way, frames in ways.items():
                lines += [missing(program, way, frame) for frame in frames if not frame["test"]]
    print("\n".join(lines))
    for name, all_, tested, share in sums(found):
        print(f"{name:24} {tested} of {all_} own source frames have a test ({share:.1f} %)")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
