#!/usr/bin/env python3
"""What the instrumentation costs cppcheck 2.10: instructions on two of its own sources, by callgrind on stripped copies,
and the size of its sections. Builds are those of evaluate.py.

  tests/real/instructions.py [--work DIR]
"""

import argparse
import pathlib
import subprocess

from evaluate import ROOT, Build

SOURCES = ("lib/timer.cpp", "lib/path.cpp")
SECTIONS = (".text", "recrash_map")


def stripped(program):
    copy = program.with_name("cppcheck.stripped")  # it looks for its configuration beside itself
    subprocess.run(["eu-strip", "-o", copy, program], check=True)
    return copy


def instructions(program, source):
    out = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, "-q", "--enable=all",
         *(source / file for file in SOURCES)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True, text=True)
    return int(out.stderr.split("Collected :")[1].split()[0])


def sizes(program):
    sections = subprocess.run(["readelf", "-SW", program], stdout=subprocess.PIPE, check=True, text=True).stdout
    return {name: int(line.split(f" {name} ")[1].split()[3], 16) for line in sections.splitlines() for name in SECTIONS
            if f" {name} " in line}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build/evaluate", help="that of evaluate.py")
    work = parser.parse_args().work.resolve()
    plain = None
    for mode in ("plain", "references", "full", "second-chance"):
        build = Build(work, "cppcheck", mode)
        build.ensure()
        program = stripped(build.executable)
        count, size = instructions(program, build.folder / "source"), sizes(program)
        plain = plain or (count, size[".text"])
        print(f"{mode:24} {count:13,} instructions ({count / plain[0]:.3f}), .text {size['.text']:9,} "
              f"({size['.text'] / plain[1]:.3f}), recrash_map {size.get('recrash_map', 0):9,}", flush=True)


if __name__ == "__main__":
    main()
