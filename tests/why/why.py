#!/usr/bin/env python3
"""How near `recrash why` comes to the fix, over small programs whose fixes are known (small_programs.py).

  tests/why/why.py [--work DIR] [--levels 0,2] [--mode MODE] [PROGRAM…]     RECRASH_PREFIX=… names the product
  tests/why/why.py --show NAME                            the trail of one program, as people see it

Each program is built, crashes, and is explained. A link counts if it stands within three lines of what the fix changes; the lines of
the five innermost own frames of the stack are counted in the same way, beside it. Lines of the library do not count.

Exit codes: 0; 1 a program did not crash, or `recrash why` failed without a word.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/real"), str(ROOT / "tests/rebuilds")]

import product
import small_programs

NEAR = 3  # lines
FIRST = 5  # links, and frames


def fixed_lines(program):
    """The lines that the fix changes."""
    if program.group == "samples":
        lines, old = set(), 0
        for line in (program.file.parent / "fix.patch").read_text().splitlines():
            if found := re.match(r"@@ -(\d+)", line):
                old = int(found[1])
            elif line.startswith("-") and not line.startswith("---"):
                lines.add(old)
                old += 1
            elif line.startswith("+") and not line.startswith("+++"):
                lines.add(old)
            elif old:
                old += 1
        return lines
    lines, depth = set(), 0
    for number, line in enumerate(program.text.splitlines(), 1):
        if re.match(r"\s*#\s*if.*\bFIXED\b", line):
            depth = 1
        elif depth and re.match(r"\s*#\s*endif", line):
            depth = 0
        elif depth:
            lines.add(number)
    return lines


def function_of(text, number):
    """The line at which the function around a line begins."""
    lines = text.splitlines()
    for at in range(min(number, len(lines)) - 1, -1, -1):
        if re.match(r"^(  )?[^\s#/}].*\)[^;]*\{(\s*//.*)?$", lines[at]) and not re.match(r"\s*(if|for|while|switch|else)\b", lines[at]):
            return at + 1
    return 0


class Explained:
    def __init__(self, program, level, work, mode):
        self.program, self.level = program, level
        self.folder = work / f"{program.name}-O{level}-{mode}"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.executable = self.folder / program.name
        self.mode = mode
        self.environment = {**os.environ, "RECRASH_DIR": str(self.folder / "reports"), "PATH": f"{product.PREFIX}/bin:{os.environ['PATH']}"}

    def run(self, *command, seconds=120):
        return subprocess.run(command, cwd=self.folder, env=self.environment, text=True, errors="replace", timeout=seconds,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)

    def crash(self):
        compiler = product.PREFIX / "bin" / ("recrash-clang" if self.program.is_c else "recrash-clang++")
        standard = [] if self.program.is_c else ["-std=c++20"]
        built = [compiler, *standard, "-g", f"-O{self.level}", "-w", f"-recrash-mode={product.BUILDS[self.mode]}", *self.program.flags]
        if self.program.library:
            self.run(*built, "-fPIC", "-shared", "-DLIBRARY", self.program.file, "-o", self.folder / "libown.so")
            extra = [f"-L{self.folder}", "-lown", f"-Wl,-rpath,{self.folder}"]
        else:
            extra = []
        self.run(*built, self.program.file, "-o", self.executable, *extra)
        arguments = self.program.place_input(self.folder)
        for _ in range(self.program.tries):
            ran = self.run(str(self.executable), *arguments)
            if ran.returncode:
                if self.mode in product.RECORDED:
                    self.run(str(self.executable), *arguments)
                return
        raise RuntimeError("did not crash")

    def explain(self):
        ran = self.run(str(product.RECRASH), "why", "--program", str(self.executable), "--json", "why.json")
        if ran.returncode:
            return None, ran.stderr.strip().splitlines()[-1:] or ["failed without a word"]
        return json.loads((self.folder / "why.json").read_text()), []

    def stack(self):
        ran = self.run(str(product.RECRASH), "show", "--program", str(self.executable), "--json", "-")
        frames = json.loads(ran.stdout)["frames"] if ran.returncode == 0 else []
        return [frame["line"] for frame in frames if pathlib.Path(frame["file"]).name == self.program.file.name][:FIRST]

    def result(self):
        fixed = fixed_lines(self.program)
        functions = {function_of(self.program.text, line) for line in fixed}
        near = lambda line: any(abs(line - other) <= NEAR for other in fixed)
        within = lambda line: function_of(self.program.text, line) in functions
        try:
            self.crash()
            why, said = self.explain()
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            return {"name": self.program.name, "level": self.level, "failed": str(error)}
        stack = self.stack()
        lines = [link["line"] for link in (why or {"links": []})["links"] if pathlib.Path(link["file"]).name == self.program.file.name]
        return {"name": self.program.name, "level": self.level, "failed": " ".join(said), "links": len(lines),
                "seconds": why["seconds"] if why else 0, "replays": why["replays"] if why else 0,
                "line": any(map(near, lines)), "first": any(map(within, lines[:FIRST])), "last": bool(lines) and within(lines[-1]),
                "any": any(map(within, lines)), "stack": any(map(within, stack)), "stack_line": any(map(near, stack))}


def show(results):
    count = len(results)
    share = lambda key, among: f"{sum(1 for result in among if result.get(key))} of {len(among)}"
    for result in sorted(results, key=lambda result: (result["name"], result["level"])):
        if result["failed"]:
            print(f"{result['name']:24} -O{result['level']}  {result['failed']}")
        else:
            marks = " ".join(key if result[key] else "-" * len(key) for key in ("line", "first", "last", "any", "stack", "stack_line"))
            print(f"{result['name']:24} -O{result['level']}  {marks}  {result['links']:2} links {result['replays']:3} replays {result['seconds']:5.1f} s")
    hidden = [result for result in results if not result.get("stack")]
    seconds = sorted(result["seconds"] for result in results if not result["failed"])
    print(f"{count} crashes, explained {len(seconds)}")
    print(f"a link in a function that the fix changes, within the first {FIRST}: {share('first', results)}; the last one: {share('last', results)};"
          f" any: {share('any', results)}; {FIRST} frames of the stack: {share('stack', results)}")
    print(f"  where none of the {FIRST} frames is in such a function: first {share('first', hidden)}, any {share('any', hidden)}")
    print(f"a link within {NEAR} lines of the fix: {share('line', results)}; a frame: {share('stack_line', results)}")
    if seconds:
        print(f"seconds: median {seconds[len(seconds) // 2]:.1f}, largest {seconds[-1]:.1f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM")
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build/why")
    parser.add_argument("--levels", default="0,2")
    parser.add_argument("--mode", default="references", choices=product.MODES)
    parser.add_argument("--show", metavar="NAME")
    parser.add_argument("--all", action="store_true", help="with --show: each step")
    arguments = parser.parse_args()
    programs = small_programs.all_programs()
    names = [arguments.show] if arguments.show else arguments.programs or sorted(programs)
    jobs = [Explained(programs[name], level, arguments.work, arguments.mode) for name in names for level in map(int, arguments.levels.split(","))]
    jobs = [job for job in jobs if fixed_lines(job.program)]
    if arguments.show:
        for job in jobs:
            job.crash()
            print(job.run(str(product.RECRASH), "why", *(["--all"] if arguments.all else []), "--program", str(job.executable)).stdout)
        return 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(Explained.result, jobs))
    (arguments.work / f"results-{arguments.mode}.json").write_text(json.dumps(results, indent=1))
    show(results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
