#!/usr/bin/env python3
"""Tests that were made of one build, run against others: those that have the bug still, and those that have it no more.

  tests/rebuilds/rebuilds.py [--quick] [PROGRAM…]    what is built already is kept; results go to WORK/results
  tests/rebuilds/rebuilds.py --tables                docs/evaluation/rebuilds.json and docs/measurements/rebuilds.md, from these
                                                     results; those that the work folder has not stay
  tests/rebuilds/rebuilds.py --list
  tests/rebuilds/rebuilds.py --programs DIR [--quick] [PROGRAM…]
                                                     programs of your own: small_programs.py says how their sources begin; results go
                                                     to DIR/rebuilds, or WORK

Each program is built, crashed and reproduced in several ways (builds.ORIGINS); the kept tests are run against each of
builds.WITH_BUG and builds.FIXES. First each rebuild is run on the input of the crash: only one that fails still is counted. A test
that is green then is a lie: it is printed by name, with the file that has what the test said.

Exit codes: 0; 1 a test lied (with --strict), a build failed, or a program did not crash or survives no fix.
"""

import argparse
import collections
import concurrent.futures
import functools
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests/real"))

import builds
import debian
import evaluate
import page
import product
import real_programs
import small_programs
import verdicts

QUICK = ("null_receiver", "dangling_reference", "vector_of_objects", "plain_c")
SECONDS = 20
SANITIZER = 99  # exit status


class Failed(Exception):
    """The text says which program cannot be measured, and why."""


def environment(folder, program=None, executable=None):
    """A small one. The home is the same for all, since it has what tells that a report was written here."""
    home = next(parent for parent in folder.parents if parent.name == "programs").parent / "home"
    home.mkdir(exist_ok=True)
    own = program.environment(program.folder_of(executable)) if program else {}
    return {"PATH": f"{product.PREFIX}/bin:{os.environ['PATH']}", "HOME": str(home), "RECRASH_DIR": str(folder / "reports"),
            "ASAN_OPTIONS": f"detect_leaks=0:exitcode={SANITIZER}", "UBSAN_OPTIONS": f"exitcode={SANITIZER}", **own}


def file_name(name):
    return re.sub(r"[^\w+]+", "_", name).strip("_")


def place(work, *names):
    return work.joinpath("programs", *map(file_name, names))


def said_folder(origin_folder, rebuild):
    """Where what the tests said of a rebuild is kept."""
    return origin_folder / "said" / file_name(rebuild)


@functools.cache
def end_of(program, executable, folder):
    """How the program ends on the input of the crash, in several runs: "SIGSEGV", "status 0", "SIGSEGV or status 0"."""
    folder.mkdir(parents=True, exist_ok=True)
    arguments, ends = program.place_input(folder), []
    for _ in range(max(2, program.tries)):
        try:
            status = subprocess.run([executable, *arguments], cwd=folder, env=environment(folder, program, executable),
                                    timeout=SECONDS, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                    stderr=subprocess.DEVNULL).returncode
        except subprocess.TimeoutExpired:
            status = None
        name = "runs on" if status is None else signal.Signals(-status).name if status < 0 else \
            "sanitizer" if status == SANITIZER else f"status {status}"
        if name not in ends:
            ends.append(name)
    shutil.rmtree(folder / "reports", ignore_errors=True)
    return " or ".join(sorted(ends))


def fails(program, end):
    ends = [not one.startswith("status") for one in end.split(" or ")]
    return any(ends) if program.tries > 1 else all(ends)


def crash(program, executable, folder):
    """Runs the program until it leaves a report."""
    folder.mkdir(parents=True, exist_ok=True)
    arguments = program.place_input(folder)
    for _ in range(program.tries):
        subprocess.run([executable, *arguments], cwd=folder, env=environment(folder, program, executable), timeout=SECONDS,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for report in (folder / "reports").glob("*.rcr"):
            return report
    raise Failed(f"{program.name}: no report in {folder / 'reports'}")


def reproduce(program, origin, executable, report, folder):
    """The folder of tests and what --json says, with the seconds that it took."""
    tests, result = folder / "tests", folder / "result.json"
    shutil.rmtree(tests, ignore_errors=True)
    result.unlink(missing_ok=True)
    command = ["recrash", "reproduce", report, "--program", executable, "-o", tests, "--json", result]
    start = time.monotonic()
    done = subprocess.run([*command, *(["--rerun"] if origin.rerun else [])], cwd=folder,
                          env=environment(folder, program, executable), text=True, timeout=600, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace")
    seconds = time.monotonic() - start
    (folder / "reproduce.txt").write_text(done.stdout)
    if not result.exists():
        raise Failed(f"{program.name}, {origin.name}: recrash reproduce ended with {done.returncode}: {folder / 'reproduce.txt'}")
    return tests, json.loads(result.read_text()), seconds


def own_source(result):
    """The frames of the program's own source, without templates of the C++ library that are compiled into it."""
    return [frame for frame in result["frames"] if frame["own"] and frame["file"] and not frame["file"].startswith("/usr/")]


def enabled(tests):
    """The names of the tests in crash_test.cc, without those that are disabled."""
    names = re.findall(r"^TEST\(\w+, (\w+)\)", (tests / "crash_test.cc").read_text(), re.MULTILINE)
    return [name for name in names if not name.startswith("DISABLED_")], \
        [name for name in names if name.startswith("DISABLED_")]


def asked(program, rebuild, executable, twin, origin_folder, tests, names):
    """One row: how the rebuild ends, and what each test says of it. Tests against a rebuild that ends otherwise than it should are
    not run."""
    end = end_of(program, executable, program.folder_of(executable) / "run" / file_name(program.name))
    row = {"end": end, "counted": fails(program, end) != rebuild.fixed}
    if not row["counted"]:
        return row
    given = origin_folder / "crash" / program.input_name
    if rebuild.without_input:
        given.rename(given.with_name("gone"))
    try:
        said = verdicts.ask(tests, executable, said_folder(origin_folder, rebuild.name), names, twin=twin,
                            environment=program.environment(program.folder_of(executable)))
    finally:
        if rebuild.without_input:
            given.with_name("gone").rename(given)
    row["said"] = {test: {"kind": kind, "words": words} for test, (kind, words) in said.items()}
    return row


def chosen_builds(names):
    """Those of the names; all if there are none."""
    return [rebuild for rebuild in (*builds.WITH_BUG.values(), *builds.FIXES.values()) if not names or rebuild.name in names]


def measure(program, origin, work, wanted=()):
    """All rows of one program as it was built at its crash."""
    folder = place(work, program.name, origin.name)
    folder.mkdir(parents=True, exist_ok=True)
    sources = place(work, program.build_name, "sources")

    def made(rebuild):
        return rebuild.make(program, origin, sources, place(work, program.build_name, *rebuild.place(origin)))

    def twin_of(rebuild):
        folder = place(work, program.build_name, "builds", f"{rebuild.compiler} twin{', fixed' if rebuild.fixed else ''}")
        return rebuild.make_twin(program, sources, folder) if rebuild.twin else None

    original = made(builds.Rebuild(f"{origin.compiler} {origin.level}", origin.flags, origin.compiler))
    shutil.rmtree(folder / "crash", ignore_errors=True)
    report = crash(program, original, folder / "crash")
    tests, result, seconds = reproduce(program, origin, original, report, folder)
    own = own_source(result)
    names, disabled = enabled(tests) if result["tests"] else ([], [])
    row = {"program": program.name, "group": program.group, "origin": origin.name, "failure": result["failure"],
           "own": len(own), "own_tested": sum(frame["test"] for frame in own), "tests": len(names), "disabled": len(disabled),
           "bytes": (tests / "crash_test.rcr").stat().st_size if names else None, "seconds": round(seconds, 1), "rebuilds": {}}
    if not names:
        return row
    for rebuild in chosen_builds(wanted):
        if rebuild.applies(program, origin):
            row["rebuilds"][rebuild.name] = asked(program, rebuild, made(rebuild), twin_of(rebuild), folder, tests, names)
    return row


def lies(row):
    for rebuild, one in row["rebuilds"].items():
        for test, said in one.get("said", {}).items():
            if rebuild in builds.WITH_BUG and said["kind"] == verdicts.GREEN:
                yield rebuild, test


def summary(row, work):
    kinds = collections.Counter(said["kind"] for rebuild, one in row["rebuilds"].items() if rebuild in builds.WITH_BUG
                                for said in one.get("said", {}).values())
    fixed = collections.Counter(said["kind"] for rebuild, one in row["rebuilds"].items() if rebuild in builds.FIXES
                                for said in one.get("said", {}).values())
    lines = [f"{row['program']:24} {row['origin']:12} {row['tests']} tests; bug: {words(kinds)}; fixed: {words(fixed)}"]
    for rebuild, test in lies(row):
        output = said_folder(place(work, row["program"], row["origin"]), rebuild) / "said.txt"
        lines.append(f"    LIE {row['program']} [{row['origin']}] {rebuild}: {test}; {output}")
    for rebuild, one in row["rebuilds"].items():
        if rebuild in builds.FIXES and not one["counted"]:
            lines.append(f"    {rebuild}: the program without its bug ends by {one['end']}")
    return "\n".join(lines)


def words(kinds):
    return ", ".join(f"{kinds[kind]} {kind}" for kind in verdicts.KINDS if kinds[kind]) or "none"


def measured(program, origin, work, wanted):
    try:
        return measure(program, origin, work, wanted)
    except (Failed, builds.BuildFailed, evaluate.BuildFailed, debian.Missing, subprocess.TimeoutExpired) as error:
        return {"program": program.name, "group": program.group, "origin": origin.name, "error": str(error)}


def run(chosen, origins, work, jobs, wanted=()):
    """All rows, each printed when it is there. One job has all builds of a program, since they share its folder."""
    results = work / "results"
    results.mkdir(parents=True, exist_ok=True)

    def of_program(program):
        found = [measured(program, origin, work, wanted) for origin in origins]
        (results / f"{program.name}.json").write_text(json.dumps(found, indent=1))
        return found

    rows = []
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for found in pool.map(of_program, chosen):
            for row in found:
                rows.append(row)
                print(row.get("error") or summary(row, work), flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="PROGRAM", help="programs or groups: cpp, far, samples, real (default: all)")
    parser.add_argument("--quick", action="store_true", help="few programs, as they crash at -O2")
    parser.add_argument("--work", type=pathlib.Path, help="builds and results (default: build/rebuilds)")
    parser.add_argument("--programs", type=pathlib.Path, metavar="DIR", help="the programs of this folder, in place of those here")
    parser.add_argument("--build", action="append", default=[], metavar="NAME",
                        help="this way to build alone, as the page names it; may be given again")
    parser.add_argument("--list", action="store_true", help="print the programs")
    parser.add_argument("--tables", action="store_true", help="write docs/evaluation/rebuilds.json and its page")
    parser.add_argument("--as-before", action="store_true", help="with --tables: these are the figures to compare with")
    parser.add_argument("--strict", action="store_true", help="a test that lies is a failure of this command")
    options = parser.parse_args()
    if options.programs and options.tables:
        parser.error("--tables is about the programs of this tree, not of --programs")
    options.work = (options.work or (options.programs / "rebuilds" if options.programs else ROOT / "build/rebuilds")).resolve()
    known = small_programs.of_folder(options.programs.resolve()) if options.programs else \
        small_programs.all_programs() | real_programs.all_programs(options.work / "inputs")
    wanted = options.names or (known if options.programs else QUICK if options.quick else page.GROUPS)
    chosen = [program for program in known.values() if {program.name, program.build_name, program.group} & set(wanted)]
    for name in wanted:
        if not any(name in (program.name, program.build_name, program.group) for program in known.values()):
            parser.error(f"no program or group '{name}'")
    if unknown := set(options.build) - {rebuild.name for rebuild in chosen_builds(())}:
        parser.error(f"no way to build '{min(unknown)}'")
    if options.list:
        return print("\n".join(f"{program.group:8} {program.name}" for program in chosen))
    results = options.work / "results"
    if options.tables:
        rows = [row for file in sorted(results.glob("*.json")) for row in json.loads(file.read_text())]
        return page.write(ROOT, rows, options.as_before)
    origins = [builds.ORIGINS["-O2"]] if options.quick else list(builds.ORIGINS.values())
    rows = run(chosen, origins, options.work, int(os.environ.get("RECRASH_JOBS", "2")), options.build)
    print(page.totals_line(rows))
    wrong = [row for row in rows if "error" in row or (options.strict and any(lies(row))) or
             any(not one["counted"] for name, one in row["rebuilds"].items() if name in builds.FIXES)]
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
