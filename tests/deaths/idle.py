#!/usr/bin/env python3
"""What the agent costs a program that does not fail: time at its start, and memory. No test: it prints.

  tests/deaths/idle.py [--times 1000] [--mode MODE]

A program that does nothing is built with recrash and without, and run by turns. Time: the processor time of its life, medians.
Instructions: of both processes as callgrind counts them, where there is valgrind. Memory: /proc/PID/smaps_rollup while it waits.
"""

import argparse
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

import builds
import matrix

TEXT = """
#include <unistd.h>
int main(int count, char**) {
  char letter;
  return count > 1 && write(1, "x", 1) == 1 ? static_cast<int>(read(0, &letter, 1)) : 0;
}
"""


def build(folder, mode):
    """{name: program}"""
    source = folder / "idle.cc"
    source.write_text(TEXT)
    made = {"without": builds.PLAIN, "with": mode}
    for name, of in made.items():
        builds.run([*builds.compiler(of), "-O2", "-Wl,--strip-debug", source, "-o", folder / name])
        # Pages of a file that is not on the disk yet would count as dirty.
        with open(folder / name, "rb") as program:
            os.fsync(program.fileno())
    return {name: folder / name for name in made}


def environment(folder):
    return {"PATH": os.environ["PATH"], "HOME": str(folder), "RECRASH_DIR": str(folder / "reports"), "RECRASH_PROFILE": ""}


def seconds(program, variables):
    """Of processor time, so that what else the machine does matters little."""
    _, _, used = os.wait4(os.posix_spawn(program, [str(program)], variables), 0)
    return used.ru_utime + used.ru_stime


def instructions(program, variables, folder):
    """Of user space, from the loader's first on; None without valgrind."""
    if not shutil.which("valgrind"):
        return None
    done = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/callgrind", program], env=variables,
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    found = re.search(r"Collected : (\d+)", done.stderr)
    return int(found[1]) if found else None


def memory(program, variables):
    """{Pss, Private_Dirty} in KiB, while it waits."""
    waiting = subprocess.Popen([program, "wait"], env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        waiting.stdout.read(1)
        text = pathlib.Path(f"/proc/{waiting.pid}/smaps_rollup").read_text()
        return {name: int(re.search(rf"^{name}:\s+(\d+) kB", text, re.MULTILINE)[1]) for name in ("Pss", "Private_Dirty")}
    finally:
        waiting.communicate(b"x")


def by_turns(programs, times, measure):
    """{name: medians}, of numbers or of dictionaries of numbers."""
    found = {name: [] for name in programs}
    for _ in range(times):
        for name, program in programs.items():
            found[name].append(measure(program))
    if isinstance(found["with"][0], dict):
        return {name: {key: statistics.median(each[key] for each in all_of) for key in all_of[0]} for name, all_of in found.items()}
    return {name: statistics.median(all_of) for name, all_of in found.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=1000, help="starts of each program")
    parser.add_argument("--mode", choices=[mode for mode in matrix.MODES if mode != builds.PLAIN], default="references")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="idle.") as name:
        folder = pathlib.Path(name)
        try:
            programs = build(folder, options.mode)
        except builds.BuildFailed as error:
            print(error, file=sys.stderr)
            return 4
        variables = environment(folder)
        rows = {"processor time from start to end, us": {each: value * 1e6 for each, value in
                                     by_turns(programs, options.times, lambda program: seconds(program, variables)).items()}}
        counted = {each: instructions(program, variables, folder) for each, program in programs.items()}
        if None not in counted.values():
            rows["instructions, thousands"] = {each: value / 1000 for each, value in counted.items()}
        for key, of in (("Private_Dirty", "private dirty memory, KiB"), ("Pss", "proportional memory (Pss), KiB")):
            rows[of] = {each: value[key] for each, value in
                        by_turns(programs, 20, lambda program: memory(program, variables)).items()}
    print("| | without | with | more |\n| --- | --- | --- | --- |")
    for title, row in rows.items():
        print(f"| {title} | {row['without']:,.0f} | {row['with']:,.0f} | {row['with'] - row['without']:,.0f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
