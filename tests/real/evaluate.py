#!/usr/bin/env python3
"""Crashes programs that nobody here wrote and reproduces the crashes: one JSON a case, and the tables from them.

  tests/real/evaluate.py --list [PROGRAM…]          print the cases of corpus/corpus.tsv
  tests/real/evaluate.py [--quick] [PROGRAM…]       build, crash, reproduce; what is there already is kept
  tests/real/evaluate.py --again [PROGRAM…]         keep the builds, do the rest again
  tests/real/evaluate.py --twin [PROGRAM…]          build each program without inlining too, and reproduce with that twin once more
  tests/real/evaluate.py --tables                   docs/evaluation.md and its plot, from the results; those that the work
                                                    folder has not are taken from docs/evaluation/results.json

Each program is built at -O2 by its own build system: in `references`, in `full`, in `references+second-chance`, and `plain`
(no instrumentation; `recrash run` keeps its crashes). A case is crashed once. Its report is reproduced several times
(--runs; in `references` the generated tests are built and run too), once with `--rerun`, and once with the input removed
from the disk. `second-chance` crashes a second time, with the profile of the first crash; `adaptive` crashes once, in the
same build, with no profile. Their reports have entry states and are not run again. With --work-first a program that can
take several inputs works for some seconds before it comes to the one that it fails on.

Exit codes: 0; 1 a build or recrash failed, or a test does not fail as recorded on the broken program (with --quick: or a
case has no test); 4 a source or package could not be fetched.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time

import cases
import debian
import document
import kept
import product
from programs import PROGRAMS

ROOT = pathlib.Path(__file__).resolve().parents[2]
KEPT = ROOT / "docs/evaluation/results.json"
QUICK = ("tetgen", "jsonnet", "swig")
CRASH_SECONDS, MEMORY = 300, 8 << 30
TRIES = 10  # a wild read hits something unmapped in most runs, not in all


class BuildFailed(Exception):
    """The text says where and what the build said."""


class Progress:
    """One line that is rewritten on a terminal; elsewhere only what is done is printed."""

    def __init__(self, total):
        self.total, self.done, self.start = total, 0, time.monotonic()
        self.terminal = sys.stderr.isatty()

    def now(self, what):
        if self.terminal:
            minutes = (time.monotonic() - self.start) / 60
            print(f"\r\033[K[{self.done}/{self.total}, {minutes:.0f} min] {what}", end="", file=sys.stderr, flush=True)

    def finished(self, line):
        self.done += 1
        print(("\r\033[K" if self.terminal else "") + line, flush=True)


def limits():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


class Build:
    """A program in one mode, built or to be built in WORK/PROGRAM."""

    def __init__(self, work, name, mode):
        self.program, self.mode = PROGRAMS[name], mode
        self.folder = work / name
        self.kind = build = product.BUILDS.get(mode, mode)
        self.build = self.folder / build
        self.executable = self.build / self.program.program
        self.stamp = self.folder / f"{build}.agent"
        self.log = self.folder / f"{build}.log"

    def environment(self):
        places = {"source": self.folder / "source", "build": self.build}
        return {key: value.format(**places) for key, value in self.program.environment.items()}

    def ensure(self, rebuild=False):
        """Builds what is not there; links again when another agent is installed."""
        if rebuild:
            self.stamp.unlink(missing_ok=True)
            self.executable.unlink(missing_ok=True)
        linked = self.stamp.read_text() if self.stamp.exists() else None
        if self.executable.exists() and (self.kind == "plain" or linked == product.agent()):
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        debian.install(self.program.needs)
        source = debian.source(self.program.package, self.program.version, self.folder / "source")
        cc, cxx, flags = product.compilers(self.kind)
        script = self.program.make
        if linked is None:
            shutil.rmtree(self.build, ignore_errors=True)
            self.build.mkdir()
            script = f"{self.program.configure}\n{self.program.make}"
        else:
            for file in self.linked_files():
                file.unlink()
        with self.log.open("a") as log:
            subprocess.run(["sh", "-e", "-c", script], cwd=self.build, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                           env={**os.environ, "SRC": str(source), "CC": cc, "CXX": cxx, "FLAGS": flags})
        if not self.executable.exists():
            raise BuildFailed(f"the build in {self.build} failed; its output is {self.log}")
        self.stamp.write_text(product.agent())

    def linked_files(self):
        """What has an agent in it: executables and shared libraries; of libtool's also what make looks at in their place."""
        linked = [file for file in self.build.rglob("*") if file.is_file() and not file.is_symlink() and is_linked(file)]
        for file in [file for file in linked if file.parent.name == ".libs"]:
            linked += [other for other in file.parent.parent.iterdir() if other.name == file.name or other.suffix == ".la"]
        return set(linked)


def is_linked(file):
    """An ELF file of type EXEC or DYN, that is, not an object."""
    with file.open("rb") as start:
        head = start.read(18)
    return head[:4] == b"\x7fELF" and head[16:18] in (b"\x02\0", b"\x03\0")


def crash(build, case, folder):
    """Runs the program into its crash in `folder`, in `second-chance` twice. Gives the last run's report, how it ended, and what
    processor and wall time each run took."""
    runs = []
    for run in ("first", "second") if build.mode == "second-chance" else ("first",):
        report, ended, taken = crash_once(build, case, folder, folder / run)
        runs.append(taken)
        if not report:
            return None, ended, runs
    return report, ended, runs


def crash_once(build, case, folder, reports):
    shutil.copy(case.input, folder)
    command = [build.executable, *case.arguments()]
    if build.mode == "plain":
        command = [product.RECRASH, "run", "--", *command]
    profile = folder / "profile"
    environment = {**os.environ, **build.environment(), "RECRASH_DIR": str(reports),
                   "RECRASH_OPTIONS": product.OPTIONS[build.mode],
                   "RECRASH_PROFILE": str(profile) if build.mode == "second-chance" else ""}
    for attempt in range(1, TRIES + 1):
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        try:
            status = subprocess.run(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, timeout=CRASH_SECONDS,
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=limits).returncode
        except subprocess.TimeoutExpired:
            return None, f"still running after {CRASH_SECONDS} s", None
        taken = {"seconds": time.monotonic() - start, "processor_seconds": processor_seconds(before)}
        found = list(reports.glob("*.rcr"))
        if found:
            break
    often = f" in run {attempt}" if attempt > 1 else ""
    return (found[0] if len(found) == 1 else None), f"exit status {status}, {len(found)} reports{often}", taken


def processor_seconds(before):
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    return now.ru_utime + now.ru_stime - before.ru_utime - before.ru_stime


def recorded(build, report, folder):
    """What the recorder kept and what that took: of `recrash show`."""
    file = folder / "show.json"
    shown = subprocess.run([product.RECRASH, "show", report, "--program", build.executable, "--json", file],
                           env={**os.environ, **build.environment()}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if shown.returncode:
        return None
    shown = json.loads(file.read_text())
    return {"snapshots": shown.get("snapshots"), "losses": shown.get("losses"),
            "frames": [frame["index"] for frame in shown["frames"] if frame.get("entry_state")]}


def reproduce(build, report, folder, *options):
    """`recrash reproduce`, in a folder where nothing else is; gives its JSON, seconds taken, and what it said."""
    tests = folder / "tests"
    result = folder / "result.json"
    shutil.rmtree(tests, ignore_errors=True)
    result.unlink(missing_ok=True)
    empty = folder / "empty"
    empty.mkdir(exist_ok=True)
    start = time.monotonic()
    output = subprocess.run(
        [product.RECRASH, "reproduce", report, "--program", build.executable, "-o", tests, "--json", result, *options],
        cwd=empty, env={**os.environ, **build.environment()}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, errors="replace", timeout=1800)
    seconds = time.monotonic() - start
    return (json.loads(result.read_text()) if result.exists() else None), seconds, output


def run_tests(folder):
    """The generated tests against the program as it is: all must fail, as recorded. Gives how many ran, and which did not."""
    binary = folder / "tests/build/crash_test"
    if not binary.exists():
        return None
    out = folder / "gtest.json"
    subprocess.run([binary, "--gtest_also_run_disabled_tests", f"--gtest_output=json:{out}"], cwd=folder / "empty",
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=1800)
    if not out.exists():
        return None
    tests = [test for suite in json.loads(out.read_text())["testsuites"] for test in suite["testsuite"]]
    # A test that does not die as recorded passes with a note; on the program as it was, each must fail.
    return {"run": len(tests), "passed": [test["name"] for test in tests if "failures" not in test],
            "failed_otherwise": [test["name"] for test in tests if "failures" in test and not happens_again(test)]}


def happens_again(test):
    return all("happens again" in failure["failure"] for failure in test["failures"])


def is_of_source(frame):
    """Of the program's own source, without templates of the C++ library that are compiled into it."""
    return frame["own"] and bool(frame["file"]) and not frame["file"].startswith("/usr/")


def merge(runs, gone, again, twin):
    """The frames of the first run. What the input's absence, a second run of the program, and a twin change stands beside."""
    frames = runs[0]["frames"]
    for frame in frames:
        verdicts = [verdict_of(run, frame) for run in runs]
        frame["input_removed"] = verdict_of(gone, frame) if gone else None
        frame["rerun"] = verdict_of(again, frame) if again else None
        frame["source"], frame["twin"] = is_of_source(frame), verdict_of(twin, frame) if twin else None
        frame["rerun_self_contained"] = bool(again) and any(same(frame, other) and other["self_contained"] for other in again["frames"])
        # A frame that needs no input must not care that it is gone.
        if frame.get("self_contained") and gone:
            verdicts.append(frame["input_removed"])
        frame["verdicts"], frame["stable"] = verdicts, len(set(verdicts)) == 1
    return frames


def verdict_of(run, frame):
    return next((other["verdict"] for other in run["frames"] if same(frame, other)), None)


def same(frame, other):
    return (other["index"], other["function"]) == (frame["index"], frame["function"])


def evaluate(build, case, runs, keep, twin=None):
    """One case in one mode: all that the tables need, as a dictionary. `twin`: a Build, or none."""
    result = {"program": case.program, "input": case.title, "after_work": bool(case.work), "mode": build.mode, "kind": case.kind, "shipped": case.signal,
              "product": product.everything()}
    with tempfile.TemporaryDirectory(prefix="case.", dir=build.folder) as place:
        folder = pathlib.Path(place)
        report, result["ended"], result["runs"] = crash(build, case, folder)
        if not report:
            return {**result, "crashed": False}
        if build.mode in product.RECORDED:
            result["recorded"] = recorded(build, report, folder)
        result["crashed"], result["report_bytes"] = True, report.stat().st_size
        first, seconds, output = reproduce(build, report, folder, *([] if build.mode == "references" else ["--no-build"]))
        if first is None:
            return {**result, "error": f"{output.returncode}: {output.stdout[-2000:]}"}
        result["said"] = output.stdout[-1500:]
        # The file was written last when it was complete; what the signal was is in it.
        result["report_ms"] = (report.stat().st_mtime_ns - first["crashed_at_ns"]) / 1e6
        result["tests_run"] = run_tests(folder)
        if keep:
            shutil.copytree(folder, keep / f"{case.program}.{case.title}.{build.mode}", dirs_exist_ok=True)
        more = [reproduce(build, report, folder, "--no-build") for _ in range(runs - 1)]
        again = rerun_seconds = None
        if build.mode not in product.RECORDED:
            again, rerun_seconds, output = reproduce(build, report, folder, "--no-build", "--rerun", "--yes")
            result["rerun_said"] = output.stdout[:600]
        with_twin = twin and reproduce(build, report, folder, "--no-build", "--twin", twin.executable)[0]
        result["has_twin"] = bool(with_twin)
        (folder / case.name).unlink()
        gone = reproduce(build, report, folder, "--no-build")
        times = [seconds, *(run[1] for run in more), gone[1]]
        result["frames"] = merge([first, *(run[0] for run in more if run[0])], gone[0], again, with_twin)
        result.update({key: value for key, value in first.items() if key not in ("frames", "report_bytes")},
                      seconds=times, **({"rerun_seconds": rerun_seconds} if again else {}))
    return result


def summary(result):
    """One line a case."""
    head = f"{result['program']:14} {result['input']:28} {result['mode']:11}"
    if not result["crashed"]:
        return f"{head} does not crash: {result['ended']}"
    if "error" in result:
        return f"{head} recrash failed, {result['error'].strip().splitlines()[-1]}"
    tried = [frame for frame in result["frames"] if frame["verdict"]]
    good = sum(frame["verdict"] == "reproduced" for frame in tried)
    gone = sum(frame.get("input_removed") == "reproduced" for frame in tried)
    again = sum(frame.get("rerun") == "reproduced" for frame in tried)
    unstable = sum(not frame["stable"] for frame in tried)
    wrong = len(wrong_tests(result))
    own = [frame for frame in result["frames"] if frame.get("source")]
    tested = f"{sum(frame['verdict'] == 'reproduced' for frame in own)} of {len(own)} own source frames have a test"
    if result.get("has_twin"):
        tested += f", {sum('reproduced' in (frame['verdict'], frame['twin']) for frame in own)} with the twin"
    return (f"{head} {good:3} of {len(tried):3} reproduce, {again:3} run again, {gone:3} without the input, {result['report_bytes'] / 1024:5.0f} KiB, "
            f"{result['seconds'][-1]:5.1f} s, {tested}{f', {unstable} unstable' if unstable else ''}{f', {wrong} TESTS WRONG' if wrong else ''}")


def reproduced(result):
    return any(frame["verdict"] == "reproduced" for frame in result.get("frames", []))


def is_wrong(result):
    """recrash itself failed, or a test that it kept does not fail as recorded on the broken program."""
    return "error" in result or bool(wrong_tests(result))


def wrong_tests(result):
    run = result.get("tests_run") or {}
    return run.get("passed", []) + run.get("failed_otherwise", [])


def work_of(program, work):
    """Absolute, so that cppcheck, which sorts what it is given, comes to it before the input in the current folder."""
    return " ".join(str(work / program / "source" / file) for file in PROGRAMS[program].work.split())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help=f"of {', '.join(PROGRAMS)} (default: all)")
    parser.add_argument("--quick", action="store_true", help=f"{', '.join(QUICK)} in `references`, one run, no stack overflows")
    parser.add_argument("--list", action="store_true", help="print the cases, run none")
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build/evaluate", help="keeps sources, builds, results")
    parser.add_argument("--mode", action="append", choices=product.MODES, help="(default: all)")
    parser.add_argument("--input", help="only the case of this input")
    parser.add_argument("--runs", type=int, default=2, help="times that each report is reproduced in the same way (2; with the input gone once more)")
    parser.add_argument("--again", action="store_true", help="crash and reproduce again what has a result")
    parser.add_argument("--twin", action="store_true", help="build each program without inlining too: its tests count in modes with entry states")
    parser.add_argument("--work-first", action="store_true", help="only cases of programs that can be given work before their input")
    parser.add_argument("--rebuild", action="store_true", help="build the programs from nothing")
    parser.add_argument("--build-only", action="store_true")
    parser.add_argument("--tables", action="store_true", help="write docs/evaluation.md and .svg from the results")
    parser.add_argument("--keep", type=pathlib.Path, help="keep each case's folder (report, tests) here")
    options = parser.parse_args()

    work = options.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    known = cases.read(work / "inputs")
    if options.tables:
        results = [json.loads(file.read_text()) for file in (work / "results").glob("*/*.json")]
        found = cases.without_others(kept.gathered(KEPT, results), known)
        kept.write(KEPT, found)
        document.write(ROOT / "docs", found, [(case.program, case.name) for case in known])
        return 0
    names = options.programs or (QUICK if options.quick else list(PROGRAMS))
    unknown = [name for name in names if name not in PROGRAMS]
    if unknown:
        parser.error(f"no program {unknown[0]}; there are {', '.join(PROGRAMS)}")
    modes = options.mode or (["references"] if options.quick else product.MODES)
    runs = 1 if options.quick else options.runs

    wanted = [case for case in known if case.program in names and options.input in (None, case.name)]
    if options.work_first:
        wanted = [dataclasses.replace(case, work=work_of(case.program, work)) for case in wanted if PROGRAMS[case.program].work and not case.overflow]
    if options.quick:
        wanted = [case for name in names for case in [c for c in wanted if c.program == name and not c.overflow][:4]]
    if options.list:
        for case in wanted:
            print(f"{case.program:14} {case.title:28} {case.command}")
        print(f"{len(wanted)} cases of {len({case.program for case in wanted})} programs")
        return 0
    progress = Progress(len(wanted) * len(modes))
    failed = missing = 0
    for build in [Build(work, name, mode) for mode in modes for name in names]:
        progress.now(f"{build.folder.name}: building {build.mode}")
        twin = Build(work, build.folder.name, product.TWIN) if options.twin and build.mode in product.RECORDED else None
        try:
            for one in filter(None, (build, twin)):
                one.ensure(options.rebuild)
        except (BuildFailed, debian.Missing) as error:
            print(f"{build.folder.name} {build.mode}: {error}", file=sys.stderr)
            failed += isinstance(error, BuildFailed)
            missing += isinstance(error, debian.Missing)
            continue
        for case in [case for case in wanted if case.program == build.folder.name and not options.build_only]:
            file = work / "results" / case.program / f"{case.title}.{build.mode}.json"
            if options.again or not file.exists():
                progress.now(f"{case.program} {case.title} {build.mode}")
                result = evaluate(build, case, runs, options.keep, twin)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(json.dumps(result, indent=1))
            result = json.loads(file.read_text())
            progress.finished(summary(result))
            failed += is_wrong(result) or (options.quick and not reproduced(result))
    return 1 if failed else 4 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
