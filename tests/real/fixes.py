#!/usr/bin/env python3
"""Tests that were generated from a crash, run again after the bug is fixed: what they are for, measured.

  tests/real/fixes.py [--work DIR] [--json FILE] [NAME…]      NAME: a program or an input of fixes/fixes.tsv

For each fix: the program is crashed, `recrash reproduce` makes and builds its tests, all of which must fail (where the report
alone gives none but such as a fix cannot help, by `--rerun`, and that is said); the fix is applied with patch(1) and the program built again; it must survive the input now; the same tests run against it.

All of that happens in a mount namespace of its own, where the program's folders are overlaid: the build there is the build
of `./dev evaluate` under the same paths, so that only the patched files are compiled again, and outside nothing changes.
"""

import argparse
import csv
import dataclasses
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import cases
import evaluate
import product

HERE = pathlib.Path(__file__).resolve().parent
FIXES = HERE / "fixes"
NAMESPACE = ["unshare", "--mount"] + ([] if os.geteuid() == 0 else ["--map-root-user"])
IMPOSSIBLE = "this test can only pass if the function"  # of the labels of testgen/emit/why.cc


@dataclasses.dataclass(frozen=True)
class Fix:
    program: str
    input: str
    patch: str   # in fixes/
    origin: str  # upstream or ours
    what: str
    left: str    # why tests stay red that say nothing of it, if there are such

    @property
    def name(self):
        return f"{self.program} {self.input}"


def read_fixes():
    with (FIXES / "fixes.tsv").open(newline="") as file:
        return [Fix(**row) for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]


class Failed(Exception):
    """A fix that could not be measured; the text says where it ended."""


def overlay(folder, place):
    """Lays a writable layer over `folder`; what is written there goes to `place` and is seen in this namespace only."""
    upper, work = place / "upper", place / "work"
    upper.mkdir(parents=True)
    work.mkdir()
    done = subprocess.run(["mount", "-t", "overlay", "recrash-fixes", "-o",
                           f"lowerdir={folder},upperdir={upper},workdir={work}", folder],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise Failed(f"cannot lay an overlay over {folder}: {done.stdout.strip()}")


def overlay_all(build, place):
    """The program's folder; and what is elsewhere by a symbolic link."""
    overlay(build.folder, place / "all")
    for number, folder in enumerate(sorted({build.build.resolve(), (build.folder / "source").resolve()})):
        if folder.exists() and build.folder not in folder.parents:
            overlay(folder, place / str(number))


def rebuild(build, patch):
    """Applies the patch where the program is compiled from, and builds what that changes."""
    copied = build.program.configure.startswith("cp -a")
    source = build.build if copied else build.folder / "source"
    # Debian's own patches may have left read-only or linked files; patch writes a new file.
    done = subprocess.run(["patch", "-p1", "--batch", "--no-backup-if-mismatch", "-i", patch], cwd=source,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise Failed(f"{patch} does not apply: {done.stdout.strip()}")
    cc, cxx, flags = product.compilers(build.mode)
    environment = {**os.environ, "SRC": str(build.folder / "source"), "CC": cc, "CXX": cxx, "FLAGS": flags}
    done = subprocess.run(["sh", "-e", "-c", build.program.make], cwd=build.build, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    if done.returncode != 0:
        raise Failed(f"{build.build} does not build with {patch}: {done.stdout[-2000:]}")


def labels(source):
    """Test name -> the comment above it, from crash_test.cc."""
    found, comment = {}, []
    for line in source.read_text().splitlines():
        if line.startswith("//"):
            comment.append(line.removeprefix("//").strip())
            continue
        if test := re.match(r"TEST\(\w+, (\w+)\)", line):
            found[test[1]] = " ".join(comment)
        comment = []
    return found


def run_tests(build, folder, name):
    """The generated tests against the program as it is now: test name -> (passed, what it said)."""
    out = folder / f"{name}.json"
    done = subprocess.run([folder / "tests/build/crash_test", f"--gtest_output=json:{out}"], cwd=folder / "empty",
                          env={**os.environ, **build.environment()}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", timeout=1800)
    if not out.exists():
        raise Failed(f"the tests did not run: {done.stdout[-1000:]}")
    said = dict(re.findall(r"^\[ RUN      \] \w+\.(\w+)\n(.*?)^\[ +(?:OK|FAILED) +\]", done.stdout, re.M | re.S))
    tests = [test for suite in json.loads(out.read_text())["testsuites"] for test in suite["testsuite"]]
    return {test["name"]: ("failures" not in test, text(test, said)) for test in tests}


def text(test, said):
    """The failure, or for what passed the note that it printed; without the paths of this run."""
    lines = "".join(failure["failure"] for failure in test["failures"]) if "failures" in test else said.get(test["name"], "")
    return re.sub(r"\S*/fix\.\w+/case/", "", lines).strip()[:600]


def survives(build, case, folder):
    """How the fixed program ends on the input; an exception when it still crashes."""
    folder.mkdir()
    report, ended, _ = evaluate.crash(build, case, folder)
    status = re.match(r"exit status (-?\d+), (\d+) reports", ended)
    if report or not status or int(status[1]) < 0 or status[2] != "0":
        raise Failed(f"with the fix the program still fails on {case.name}: {ended}")
    return int(status[1])


def make_tests(build, report, folder, *options):
    found, _, output = evaluate.reproduce(build, report, folder, *options)
    if not found or not found["tests"]:
        raise Failed(f"no tests: {output.stdout[-1000:]}")
    return found


def measure(fix, case, build, folder, keep):
    """One fix, inside the namespace: the row of the table, and each test with what it said before and after."""
    build.ensure()
    report, ended, _ = evaluate.crash(build, case, folder)
    if not report:
        raise Failed(f"does not crash: {ended}")
    found, rerun = make_tests(build, report, folder), False
    if all(IMPOSSIBLE in comment for comment in labels(folder / "tests/crash_test.cc").values()):
        found, rerun = make_tests(build, report, folder, "--rerun", "--yes"), True
    before = run_tests(build, folder, "before")
    rebuild(build, FIXES / fix.patch)
    status = survives(build, case, folder / "fixed")
    after = run_tests(build, folder, "after")
    comments = labels(folder / "tests/crash_test.cc")
    if keep:
        shutil.copytree(folder, keep / f"{case.program}.{case.name}.fix", dirs_exist_ok=True, symlinks=True)
    tests = [{"name": name, "impossible": IMPOSSIBLE in comments[name], "failed_before": not before[name][0],
              "passed": after[name][0], "after": after[name][1]} for name in after]
    possible = [test for test in tests if not test["impossible"]]
    return {"fixed_exit_status": status, "failure": found["failure"], "rerun": rerun, "tests": len(tests),
            "passed": sum(test["passed"] for test in tests), "impossible": len(tests) - len(possible),
            "passed_possible": sum(test["passed"] for test in possible),
            "wrong": sum(not test["failed_before"] for test in tests), "each": tests}


def inside(fix, case, build, keep):
    """Runs in the namespace that `outside` made; prints the result as JSON."""
    place = pathlib.Path(tempfile.mkdtemp(prefix="fix."))
    try:
        overlay_all(build, place)
        folder = place / "case"
        folder.mkdir()
        result = measure(fix, case, build, folder, keep)
    except (Failed, evaluate.BuildFailed, subprocess.TimeoutExpired) as error:
        result = {"error": str(error)}
    finally:
        os.chdir("/")
        subprocess.run(["umount", "--all", "--types", "overlay"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        shutil.rmtree(place, ignore_errors=True)
    print(json.dumps(result))


def outside(fix, options):
    """Measures one fix in a namespace of its own."""
    command = [*NAMESPACE, sys.executable, __file__, "--inside", "--work", options.work,
               *(["--keep", options.keep] if options.keep else []), fix.name]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    try:
        result = json.loads(done.stdout.replace(f"{options.work}/", ""))
    except ValueError:
        result = {"error": f"exit status {done.returncode}"}
    return {**dataclasses.asdict(fix), **result}


def summary(result):
    head = f"{result['program']:14} {result['input']:28}"
    if "error" in result:
        return f"{head} not measured: {result['error']}"
    wrong = f", {result['wrong']} PASS BEFORE" if result["wrong"] else ""
    return (f"{head} {result['passed']:3} of {result['tests']:3} pass; {result['impossible']:2} labelled impossible, of the others "
            f"{result['passed_possible']:3} of {result['tests'] - result['impossible']:3}{wrong}")


def total(results):
    done = [result for result in results if "error" not in result]
    tests, passed, impossible, possible = (sum(result[key] for result in done)
                                           for key in ("tests", "passed", "impossible", "passed_possible"))
    programs = len({result["program"] for result in done})
    print(f"{len(done)} crashes of {programs} programs: {passed} of {tests} tests pass after the fix; {impossible} are labelled "
          f"impossible, of the others {possible} of {tests - impossible} pass; "
          f"{sum(result['passed'] == 0 for result in done)} crashes have no test that passes")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="programs or inputs (default: all)")
    parser.add_argument("--work", type=pathlib.Path, default=evaluate.ROOT / "build/evaluate", help="has the builds")
    parser.add_argument("--json", type=pathlib.Path, help="the results; those of other fixes that are there already stay")
    parser.add_argument("--keep", type=pathlib.Path, help="keep each case's folder (report, tests) here")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.work = options.work.resolve()

    known = {(case.program, case.name): case for case in cases.read(options.work / "inputs")}
    fixes = [fix for fix in read_fixes()
             if not options.names or {fix.program, fix.input, fix.name} & set(options.names)]
    if not fixes:
        parser.error(f"no fix of {', '.join(options.names)}")
    if options.inside:
        (fix,) = fixes
        build = evaluate.Build(options.work, fix.program, "references")
        return inside(fix, known[fix.program, fix.input], build, options.keep)

    results = []
    for fix in fixes:
        results.append(outside(fix, options))
        print(summary(results[-1]), flush=True)
    total(results)
    if options.json:
        old = json.loads(options.json.read_text()) if options.json.exists() else []
        new = {(result["program"], result["input"]): result for result in [*old, *results]}
        options.json.write_text(json.dumps(list(new.values()), indent=1) + "\n")
    return 1 if any("error" in result or result["wrong"] or not result["passed"] for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
