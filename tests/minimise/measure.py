#!/usr/bin/env python3
"""What `recrash minimise` finds in the small programs and the samples: words, time, and whether ten seeds find the same.

  RECRASH_PREFIX=build/prefix tests/minimise/measure.py [--seeds N] [--json FILE] [PROGRAM…]

Each program is built at -O2 and crashed once; of its tests, that of the innermost frame of its own sources is minimised. The time is that of the search, by the
clock, of the first seed. "The same" are words, bytes and roles. A program that gives no result has its reason in the table.
"""

import argparse
import collections
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests/rebuilds"))

import small_programs

PREFIX = pathlib.Path(os.environ.get("RECRASH_PREFIX", ROOT / "build/prefix")).resolve()


def environment(folder):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RECRASH_")}
    return kept | {"PATH": f"{PREFIX}/bin:{kept['PATH']}", "RECRASH_DIR": str(folder / "reports"), "HOME": str(folder)}


def build(program, folder):
    compiler = "recrash-clang" if program.is_c else "recrash-clang++"
    words = [compiler, *([] if program.is_c else ["-std=c++20"]), "-g", "-w", "-O2", *program.flags]
    sources = [program.file]
    if program.library:
        library = folder / "libown.so"
        run(folder, *words, "-DLIBRARY", "-fPIC", "-shared", program.file, "-o", library)
        sources += [library, "-Wl,-rpath,$ORIGIN"]
    run(folder, *words, *sources, "-o", "program")


def run(folder, *words, check=True):
    return subprocess.run([str(word) for word in words], cwd=folder, env=environment(folder), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", check=check, timeout=300)


def crash(program, folder):
    for _ in range(program.tries):
        run(folder, "./program", *program.place_input(folder), check=False)
        reports = sorted((folder / "reports").glob("*.rcr"))
        if reports:
            return reports[-1]
    return None


def essence(found):
    return json.dumps([[item["address"], item["mask"], item["role"]] for item in found["items"]])


def first_line(done):
    return (done.stderr.strip() or done.stdout.strip()).splitlines()[-1]


def minimise(folder, seed):
    done = run(folder, "recrash", "minimise", "tests", "--seed", seed, "--json", "-", check=False)
    return json.loads(done.stdout) if done.returncode == 0 else first_line(done)


def measure(program, seeds):
    with tempfile.TemporaryDirectory(prefix="recrash-minimise.") as name:
        folder = pathlib.Path(name)
        build(program, folder)
        report = crash(program, folder)
        if report is None:
            return {"program": program.name, "why": "it left no report"}
        made = run(folder, "recrash", "reproduce", report, "--program", "./program", "-o", "tests", "--no-build", check=False)
        if made.returncode != 0:
            return {"program": program.name, "why": first_line(made)}
        first = minimise(folder, 1)
        if isinstance(first, str):
            return {"program": program.name, "why": first}
        others = [minimise(folder, seed) for seed in range(2, seeds + 1)]
        ways = collections.Counter(essence(found) if isinstance(found, dict) else found for found in (first, *others))
        return {"program": program.name, "function": first["function"], "words": first["words"], "bytes": first["bytes"],
                "parts": first["parts"], "given_parts": first["given_parts"], "seconds": first["seconds"],
                "trials": first["trials"], "agreeing_fills": first["agreeing_fills"], "fills": first["fills"],
                "limits": first["limits"],
                "culprits": sum(item["role"] == "culprit" for item in first["items"]),
                "named": sum(not item["path"].startswith(("block of", "freed block", "the callers' stack", "heap"))
                             for item in first["items"]),
                "the_same": ways.most_common(1)[0][1], "seeds": seeds}


def summary(rows):
    done = [row for row in rows if "words" in row]
    runs, same = sum(row["seeds"] for row in done), sum(row["the_same"] for row in done)
    words = [row["words"] for row in done]
    seconds = [row["seconds"] for row in done]
    agree = sum(row["agreeing_fills"] == row["fills"] for row in done)
    culprit = sum(row["culprits"] > 0 for row in done)
    return "\n".join([
        f"{len(done)} of {len(rows)} programs have a result",
        f"words: median {statistics.median(words):g}, largest {max(words)}",
        f"seconds: median {statistics.median(seconds):.2f}, largest {max(seconds):.1f}; "
        f"{sum(row['trials'] for row in done) / sum(seconds):.0f} trials a second",
        f"words with a name: {sum(row['named'] for row in done)} of {sum(words)}",
        f"all other fills agree in {agree} of {len(done)}; a culprit in {culprit}",
        f"the same from {done[0]['seeds']} seeds: {same} of {runs} runs ({100 * same / runs:.0f} %), "
        f"all seeds in {sum(row['the_same'] == row['seeds'] for row in done)} of {len(done)} programs"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    programs = small_programs.all_programs()
    rows = []
    for name in options.programs or sorted(programs):
        rows.append(measure(programs[name], options.seeds))
        print(json.dumps(rows[-1]), flush=True)
        if options.json:
            options.json.write_text(json.dumps(rows, indent=1) + "\n")
    print(summary(rows))


if __name__ == "__main__":
    main()
