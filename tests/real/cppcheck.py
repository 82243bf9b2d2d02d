#!/usr/bin/env python3
"""cppcheck 2.10 built from Debian's source with recrash-clang++ at -O2, run into its crashes, each made into tests.

  tests/real/cppcheck.py --work DIR --corpus DIR [--mode references|full] [--only NAME]
  tests/real/cppcheck.py --work DIR --instructions    # plain, references, full: instructions and .text, by callgrind

DIR of --work keeps the source and the build between runs; --corpus is the folder with cppcheck/*.cpp. Prints a line a
crash and the totals, and writes DIR/results-MODE.json. Frames that are not candidates (inlined, libc) do not count;
crashes with a stack overflow are totalled apart.
"""

import argparse
import collections
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

INPUTS = [  # file, language option, stack overflow
    ("19219d7e.cpp", "c++", False), ("1b9524a7.cpp", "c++", False), ("5db88ae1.cpp", "c++", False),
    ("77c74a5f.c", "c", False), ("78bcf474.cpp", "c++", False), ("82986578.cpp", "c++", False),
    ("8a24e81a.cpp", "c++", False), ("9e4f80a2.cpp", "c++", False), ("c36b9a5f.cpp", "c++", False),
    ("d6609399.cpp", "c++", True), ("e000709d.cpp", "c++", False), ("e4a26f2d.cpp", "c++", False),
    ("ef635709.cpp", "c++", False), ("longsum.cpp", None, True),
]

PREFIX = pathlib.Path(os.environ.get("RECRASH_PREFIX", "build/prefix")).resolve()


def source(work):
    """Debian's source, unpacked without its patches; deb-src need not be enabled on the machine."""
    tree = work / "cppcheck-2.10"
    if tree.exists():
        return tree
    subprocess.run(["apt-get", "source", "--download-only", "cppcheck=2.10-2"], cwd=work, check=True)
    (dsc,) = work.glob("cppcheck_2.10*.dsc")
    subprocess.run(["dpkg-source", "-x", "--skip-patches", dsc.name], cwd=work, check=True, stdout=subprocess.DEVNULL)
    return tree


def build(work, mode):
    folder = work / f"build-{mode}"
    program = folder / "bin" / "cppcheck"
    if program.exists():
        return program
    tree = source(work)
    compiler = {"plain": ("clang-19", "clang++-19", "")}.get(
        mode, (PREFIX / "bin/recrash-clang", PREFIX / "bin/recrash-clang++", f"-recrash-mode={mode} "))
    subprocess.run(
        ["cmake", "-S", tree, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=None", "-DHAVE_RULES=ON",
         "-DUSE_MATCHCOMPILER=Off", f"-DCMAKE_C_COMPILER={compiler[0]}", f"-DCMAKE_CXX_COMPILER={compiler[1]}",
         f"-DCMAKE_CXX_FLAGS={compiler[2]}-O2 -g -w"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", folder, "-j2", "cppcheck"], check=True, stdout=subprocess.DEVNULL)
    return program


def crash(program, file, language, folder):
    """Runs the program on the input; gives the report's path or the reason why there is none."""
    command = [program, "-q"]
    if language:
        command += [f"--language={language}", "--enable=all", "--inconclusive"]
    environment = {**os.environ, "RECRASH_DIR": str(folder / "reports")}
    result = subprocess.run([*command, file], cwd=folder, env=environment, stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, timeout=300)
    reports = list((folder / "reports").glob("*.rcr")) if (folder / "reports").exists() else []
    if len(reports) == 1:
        return reports[0], None
    return None, f"exit status {result.returncode}, {len(reports)} reports"


def reproduce(program, report, folder):
    start = time.monotonic()
    result = subprocess.run(
        [PREFIX / "bin/recrash", "reproduce", report, "--program", program, "-o", folder / "tests", "--no-build",
         "--json", folder / "result.json"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=1800)
    seconds = time.monotonic() - start
    (folder / "output.txt").write_bytes(result.stdout)
    json_file = folder / "result.json"
    frames = json.loads(json_file.read_text())["frames"] if json_file.exists() else []
    return frames, seconds, result.stdout.decode(errors="replace")


def instructions(work):
    """Instructions of cppcheck on one of its own sources, by callgrind on stripped copies, and the size of .text."""
    tree = source(work)
    plain = None
    for mode in ("plain", "references", "full"):
        program = build(work, mode)
        stripped = program.with_name("cppcheck.stripped")  # it looks for its configuration beside itself
        subprocess.run(["eu-strip", "-o", stripped, program], check=True)
        out = subprocess.run(
            ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", stripped, "-q", "--enable=all",
             tree / "lib/timer.cpp", tree / "lib/path.cpp"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True)
        count = int(out.stderr.decode().split("Collected :")[1].split()[0])
        sections = subprocess.run(["readelf", "-SW", stripped], stdout=subprocess.PIPE, check=True).stdout.decode()
        sizes = {name: int(line.split(f" {name} ")[1].split()[3], 16) for line in sections.splitlines()
                 for name in (".text", "recrash_map") if f" {name} " in line}
        plain = plain or (count, sizes[".text"])
        print(f"{mode:11} {count:13,} instructions ({count / plain[0]:.3f}), .text {sizes['.text']:9,} "
              f"({sizes['.text'] / plain[1]:.3f}), recrash_map {sizes.get('recrash_map', 0):9,}", flush=True)


def collected(report):
    """Milliseconds from the handler's first instruction until the report was complete, as the report says."""
    shown = subprocess.run([PREFIX / "bin/recrash", "show", report], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return float(shown.stdout.decode().split("collected in ")[1].split()[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--corpus", type=pathlib.Path)
    parser.add_argument("--instructions", action="store_true")
    parser.add_argument("--mode", default="references")
    parser.add_argument("--only")
    options = parser.parse_args()
    options.work = options.work.resolve()
    options.work.mkdir(parents=True, exist_ok=True)
    if options.instructions:
        return instructions(options.work)
    if not options.corpus:
        parser.error("--corpus is needed")
    program = build(options.work, options.mode)

    cases, others = [], collections.Counter()
    for name, language, overflow in INPUTS:
        if options.only and options.only not in name:
            continue
        folder = pathlib.Path(tempfile.mkdtemp(prefix="case.", dir=options.work))
        shutil.copy(options.corpus / "cppcheck" / name, folder / name)
        report, why_not = crash(program, name, language, folder)
        if not report:
            print(f"{name:14} does not crash: {why_not}", flush=True)
            shutil.rmtree(folder)
            continue
        frames, seconds, output = reproduce(program, report, folder)
        tried = [frame for frame in frames if frame.get("verdict") not in (None, "", "not tried")]
        good = [frame for frame in tried if frame["verdict"] == "reproduced"]
        case = {"name": name, "overflow": overflow, "frames": frames, "tried": len(tried), "reproduced": len(good),
                "seconds": seconds, "report_bytes": report.stat().st_size, "collect_ms": collected(report)}
        cases.append(case)
        print(f"{name:14} {len(good):3} of {len(tried):3} frames reproduce, {seconds:6.2f} s, "
              f"report {report.stat().st_size / 1024:.0f} KiB", flush=True)
        for frame in tried:
            if frame["verdict"] != "reproduced":
                print(f"    {frame['index']:3} {frame['function'][:60]:60} {frame['verdict']}: {frame.get('note', '')}")
                if not overflow:
                    others[frame["verdict"]] += 1
        if not frames:
            print(output)
        shutil.rmtree(folder)

    print()
    for overflow in (False, True):
        group = [case for case in cases if case["overflow"] == overflow]
        tried, good = sum(c["tried"] for c in group), sum(c["reproduced"] for c in group)
        print(f"{'stack overflows' if overflow else 'all others'}: {len(group)} crashes, "
              f"{sum(c['reproduced'] > 0 for c in group)} with a test, {good} of {tried} frames reproduce"
              f"{f' ({100 * good / tried:.0f} %)' if tried else ''}")
    print("the other frames of `all others`:", dict(others))
    if cases:
        print(f"report, median: {statistics.median(c['report_bytes'] for c in cases) / 1024:.0f} KiB in "
              f"{statistics.median(c['collect_ms'] for c in cases):.1f} ms; "
              f"reproduce, median: {statistics.median(c['seconds'] for c in cases):.2f} s")
    (options.work / f"results-{options.mode}.json").write_text(json.dumps(cases, indent=1))
    return 0 if cases and all(case["reproduced"] for case in cases) else 1


if __name__ == "__main__":
    sys.exit(main())
