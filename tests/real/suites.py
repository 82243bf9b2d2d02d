#!/usr/bin/env python3
"""Other people's test suites, plain and instrumented: the instrumentation must change no result.

  tests/real/suites.py --work DIR [--json FILE] [SUITE…]     # clang-19 -O2 against recrash-clang -recrash-mode=full -O2
  tests/real/suites.py --list
  tests/real/suites.py --table docs/evaluation/suites.json   # the same as Markdown

Each suite is built twice from Debian's source by its own build system and run; the outcomes are compared test by test.
Where an outcome differs the plain build runs three times more: a test is unstable if its plain outcome changes by itself, else
it is a difference, and its name is printed. DIR keeps sources, builds, results (SUITE/MODE.json) and what the
suites said (SUITE/MODE.txt); what is finished there for the same recrash is not done again. recrash is taken from
$RECRASH_PREFIX, else build/prefix.

Exit status: 0 no differences, 1 some, 2 usage, 4 something is missing.
"""

import argparse
import hashlib
import json
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import building
import debian
import outcomes
import product
import single_programs
from suite_list import SUITES, SinglePrograms

SECONDS = 3600  # for a suite


def say(text):
    """A progress line, on a terminal only."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def recrash():
    """What the instrumented results depend on: what a user's build takes from recrash, and what its programs do."""
    for part in ("bin/recrash-clang++", "lib/recrash/recrash-pass.so"):
        if not (product.PREFIX / part).exists():
            raise debian.Missing(f"{product.PREFIX / part} is missing; install recrash there, or set RECRASH_PREFIX")
    return {"compiler": product.fingerprint("bin/recrash-clang++", "lib/recrash/recrash-pass.so"),
            "agent": product.fingerprint("lib/recrash/librecrash_client.a"),
            "collector": product.fingerprint("bin/recrash-collector")}


def parts(mode):
    return recrash() if mode != "plain" else {"compiler": "clang-19", "agent": "none", "collector": "none"}


def source_of(suite, work):
    folder = work / "sources" / f"{suite.package}-{suite.version.replace(':', '_')}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    if not isinstance(suite, SinglePrograms):
        return debian.source(suite.package, suite.version, folder)
    folder = folder.with_name(f"{folder.name}-{hashlib.sha256(repr(suite.folders).encode()).hexdigest()[:8]}")
    if not folder.exists():
        with tempfile.TemporaryDirectory(dir=folder.parent) as download:
            debian.fetch(suite.package, suite.version, pathlib.Path(download))
            (archive,) = pathlib.Path(download).glob("*.orig.tar.*[!c]")
            half = pathlib.Path(download) / "unpacked"
            half.mkdir()
            single_programs.unpack(archive, suite, half)
            half.rename(folder)
    return folder


def variables(suite, mode, source, folder):
    cc, cxx, flags = product.compilers(mode)
    # All reports are counted.
    return building.environment(folder / f"{mode}.reports", SRC=str(source), CC=cc, CXX=cxx, FLAGS=flags,
                                RECRASH_OPTIONS="keep=0,store=0")


def build(suite, mode, source, folder):
    """Built in folder/MODE. A build that was cut off goes on; where only the agent is another one, programs are linked anew."""
    place, state_file = folder / mode, folder / f"{mode}.build.json"
    wanted = {"compiler": parts(mode)["compiler"], "commands": suite.build}
    finished = {**wanted, "agent": parts(mode)["agent"]}
    state = json.loads(state_file.read_text()) if state_file.exists() else {}
    if state == finished:
        return place
    if {**state, "agent": None} == {**wanted, "agent": None}:
        for program in list(building.programs(place)) if "agent" in state else ():
            program.unlink()
    else:
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
    state_file.write_text(json.dumps(wanted))
    with open(folder / f"{mode}.build.txt", "wb") as log:
        outcome = building.run(["sh", "-ec", suite.build], place, variables(suite, mode, source, folder), SECONDS, log)
    if outcome != "exit status 0":
        raise debian.Missing(f"the {mode} build ended with {outcome}; it said why in {log.name}")
    monitored = sum(building.holds_map(program) for program in building.programs(place))
    if bool(monitored) != (mode != "plain"):
        raise debian.Missing(f"{place}: {monitored} instrumented programs: its build did not use the compiler it was given")
    state_file.write_text(json.dumps(finished))
    return place


def run(suite, mode, source, folder):
    """One run of the suite: outcomes by name, seconds, reports left."""
    text = folder / f"{mode}.txt"
    start = time.monotonic()
    with open(text, "wb") as output:
        status = building.run(["sh", "-ec", suite.run], folder / mode, variables(suite, mode, source, folder), SECONDS, output)
    seconds = time.monotonic() - start
    said = text.read_text(errors="replace")
    results = {}
    for parse in suite.parse:
        results |= parse(said)
    if not results:
        raise debian.Missing(f"{text}: no test is named in what the suite said")
    return {"tests": {**results, "the whole run": status}, "seconds": round(seconds, 1),
            "reports": building.count_reports(folder / f"{mode}.reports")}


def kept(file, key, make):
    """The result in `file` if it was made for `key`, else a new one."""
    if file.exists() and (old := json.loads(file.read_text())).get("key") == key:
        return old
    new = {"key": key, **make()}
    file.write_text(json.dumps(new, indent=1))
    return new


def differing(plain, full):
    return [name for name in {**plain, **full} if plain.get(name) != full.get(name)]


def compare_suite(name, suite, source, folder):
    results = {}
    for mode in building.MODES:
        key = {"commands": suite.build + suite.run, **parts(mode)}
        say(f"{name}: building, {mode}")
        build(suite, mode, source, folder)
        say(f"{name}: running, {mode}")
        results[mode] = kept(folder / f"{mode}.json", key, lambda mode=mode: run(suite, mode, source, folder))
    plain, full = results["plain"]["tests"], results["full"]["tests"]
    differences, unstable = differing(plain, full), []
    if differences:
        for mode in building.MODES:  # what a second run will overwrite
            shutil.copy(folder / f"{mode}.txt", folder / f"{mode}.first.txt")
        again = [run(suite, "plain", source, folder)["tests"] for _ in range(3)]
        unstable = [test for test in differences if any(other.get(test) != plain.get(test) for other in again)]
    tests = {test: outcome for test, outcome in plain.items() if test != "the whole run"}
    good = {test: outcome for test, outcome in tests.items() if full.get(test) == outcome and outcome.lower() == "passed"}
    return {"tests": outcomes.count(tests), "passed": outcomes.count(good), "left_out": 0, "unstable": unstable,
            "differences": {test: [plain.get(test), full.get(test)] for test in differences if test not in unstable},
            "reports": results["full"]["reports"], "seconds": {mode: results[mode]["seconds"] for mode in building.MODES}}


def run_single_programs(name, suite, source, file):
    """The results of all programs, of those already in `file` as they are there."""
    key = {"suite": repr(suite), **recrash()}
    old = json.loads(file.read_text()) if file.exists() else {}
    results = old["results"] if old.get("key") == key else {}

    def progress(done, total):
        say(f"{name}: {done} of {total}")
        if done % 50 == 0 or done == total:
            file.write_text(json.dumps({"key": key, "results": results}, indent=1))

    single_programs.run_suite(suite, source, results, progress)
    return results


def compare_single_programs(name, suite, source, folder):
    every = run_single_programs(name, suite, source, folder / "both.json")
    results = {file: result for file, result in every.items() if result}
    if not any(result["monitored"] for result in results.values()):
        raise debian.Missing(f"{name}: no program is instrumented")
    differ = {file: result for file, result in results.items() if result["plain"] != result["full"]}
    return {"tests": len(results), "left_out": len(every) - len(results),
            "passed": sum(result["plain"]["outcome"] == result["full"]["outcome"] == "exit status 0"
                          for result in results.values()),
            "unstable": [file for file, result in differ.items() if not result["stable"]],
            "differences": {file: [result["plain"]["outcome"], result["full"]["outcome"]]
                            for file, result in differ.items() if result["stable"]},
            "reports": sum(result["reports"] for result in results.values())}


def compare(name, work):
    suite = SUITES[name]
    folder = work / name.replace("/", "_").replace(" ", "_")
    folder.mkdir(parents=True, exist_ok=True)
    say(f"{name}: fetching the source")
    source = source_of(suite, work)
    if isinstance(suite, SinglePrograms):
        result = compare_single_programs(name, suite, source, folder)
    else:
        debian.install(suite.needs)
        result = compare_suite(name, suite, source, folder)
    say("")
    return {"package": suite.package, "version": suite.version, "recrash": recrash(), **result}


def table(results):
    rows = ["| suite | Debian source | tests | pass in both | left out | unstable | reports written | differences |",
            "| --- | --- | --- | --- | --- | --- | --- | --- |"]
    for name, one in results.items():
        cut = f" ({one['tests'] + one['left_out']:,} of {one['of']:,} files)" if "of" in one else ""  # a run that was cut off
        rows.append(f"| {name}{cut} | {one['package']} {one['version']} | {one['tests']:,} | {one['passed']:,} | {one['left_out']} "
                    f"| {len(one['unstable'])} | {one['reports']} | {len(one['differences'])} |")
    total = {key: sum(one[key] for one in results.values()) for key in ("tests", "passed", "left_out", "reports")}
    lists = {key: sum(len(one[key]) for one in results.values()) for key in ("unstable", "differences")}
    rows.append(f"| **all** | | {total['tests']:,} | {total['passed']:,} | {total['left_out']} | {lists['unstable']} "
                f"| {total['reports']} | **{lists['differences']}** |")
    return "\n".join(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("build/suites"))
    parser.add_argument("--json", type=pathlib.Path, help="where the results go; those of other suites in it are kept")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--table", type=pathlib.Path, metavar="JSON")
    parser.add_argument("suites", nargs="*", metavar="SUITE")
    options = parser.parse_args()
    if options.list:
        return print("\n".join(SUITES))
    if options.table:
        return print(table(json.loads(options.table.read_text())))
    for name in options.suites:
        if name not in SUITES:
            parser.error(f"{name}: the suites are {', '.join(SUITES)}")
    work = options.work.resolve()

    results = json.loads(options.json.read_text()) if options.json and options.json.exists() else {}
    status = 0
    for name in options.suites or SUITES:
        try:
            results[name] = one = compare(name, work)
        except debian.Missing as error:
            print(f"suites.py: error: {name}: {error}", file=sys.stderr)
            status = 4
            continue
        print(f"{name:26} {one['tests']:5} tests, {one['passed']:5} pass, {one['left_out']:3} left out, "
              f"{len(one['unstable'])} unstable, {one['reports']:4} reports, {len(one['differences'])} differences", flush=True)
        for test, (plain, full) in one["differences"].items():
            print(f"    {test}: {plain} -> {full}")
        status = status or bool(one["differences"])
        if options.json:
            options.json.parent.mkdir(parents=True, exist_ok=True)
            ordered = {suite: results[suite] for suite in SUITES if suite in results}
            options.json.write_text(json.dumps(ordered, indent=1) + "\n")
    return status


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("suites.py: ended by SIGTERM"))
    try:
        sys.exit(main())
    except subprocess.CalledProcessError as error:
        sys.exit(f"suites.py: error: {error}")
