#!/usr/bin/env python3
"""Tests that were generated from a crash, run again after the bug is fixed: what they are for, measured.

  tests/real/fixes.py [--work DIR] [--json FILE] [NAME…]      NAME: a program or an input of fixes/fixes.tsv

For each fix: the program is crashed; `recrash reproduce` makes and builds its tests, all of which must fail as recorded (where all
that the report alone gives are disabled, by `--rerun`, and that is said); the fix is applied with patch(1) and the program built
again; it must survive the input now; the same tests run against it. What counts is the enabled ones; the disabled ones are run, too.
A skipped test is not green.

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

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "rebuilds"))

import cases
import evaluate
import product
import verdicts

FIXES = HERE / "fixes"
NAMESPACE = ["unshare", "--mount"] + ([] if os.geteuid() == 0 else ["--map-root-user"])


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


def run_tests(folder, name, executable):
    """The generated tests, the disabled ones too, against a program: {test: (kind, words)} of tests/rebuilds/verdicts.py."""
    written = re.findall(r"^TEST\(\w+, (\w+)\)", (folder / "tests/crash_test.cc").read_text(), re.MULTILINE)
    return verdicts.ask(folder / "tests", executable, folder / name, written, "--gtest_also_run_disabled_tests")


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


def enabled(name):
    return not name.startswith("DISABLED_")


def measure(fix, case, build, folder, keep):
    """One fix, inside the namespace: the row of the table, and each test with its verdicts before and after."""
    build.ensure()
    os.environ.update(build.environment())
    report, ended, _ = evaluate.crash(build, case, folder)
    if not report:
        raise Failed(f"does not crash: {ended}")
    found, rerun = make_tests(build, report, folder), False
    if not any(map(enabled, before := run_tests(folder, "before", build.executable))):
        found, rerun = make_tests(build, report, folder, "--rerun", "--yes"), True
        before = run_tests(folder, "before", build.executable)
    rebuild(build, FIXES / fix.patch)
    status = survives(build, case, folder / "fixed")
    after = run_tests(folder, "after", build.executable)
    if keep:
        shutil.copytree(folder, keep / f"{case.program}.{case.name}.fix", dirs_exist_ok=True, symlinks=True)
    tests = [{"name": name, "before": before[name][0], "after": kind, "said": words} for name, (kind, words) in after.items()]
    return {"fixed_exit_status": status, "failure": found["failure"], "rerun": rerun, **count(tests), "each": tests}


def count(tests):
    """How many are enabled and disabled, and how many of them turned green. A test that was not red before is wrong."""
    green = [test["name"] for test in tests if test["after"] == verdicts.GREEN and test["before"] == verdicts.RED]
    names = [test["name"] for test in tests]
    return {"enabled": sum(map(enabled, names)), "green": sum(map(enabled, green)),
            "disabled": len(names) - sum(map(enabled, names)), "disabled_green": len(green) - sum(map(enabled, green)),
            "wrong": sum(test["before"] != verdicts.RED for test in tests)}


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
    wrong = f", {result['wrong']} NOT RED BEFORE" if result["wrong"] else ""
    return (f"{head} {result['green']:3} of {result['enabled']:3} enabled tests turn green; of the disabled ones "
            f"{result['disabled_green']:3} of {result['disabled']:3}{wrong}")


def total(results):
    done = [result for result in results if "error" not in result]
    tests, green, disabled, disabled_green = (sum(result[key] for result in done)
                                              for key in ("enabled", "green", "disabled", "disabled_green"))
    programs = len({result["program"] for result in done})
    print(f"{len(done)} crashes of {programs} programs: {green} of {tests} enabled tests turn green with the fix, "
          f"{disabled_green} of {disabled} disabled ones; {sum(result['green'] == 0 for result in done)} crashes have none that does")


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
    return 1 if any("error" in result or result["wrong"] or not result["green"] for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
