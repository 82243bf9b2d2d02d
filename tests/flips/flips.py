#!/usr/bin/env python3
"""Flips bits of a running program, and counts how many of those that crash it recrash names.

    tests/flips/flips.py --prefix build/prefix [--bits 12-63] [--step 1] [--kinds list,tree] [--json FILE]
    tests/flips/flips.py --prefix build/prefix --alarms [SOURCE...]   # crashes without a flip, of all small programs: none may be named

Pointers: flips.cc flips one bit of one pointer, in each of its kinds, at -O0 and -O2. Counted are crashes by a pointer that leads
nowhere; where a flipped pointer leads to other memory of the program, nothing can be known. Code: each bit of a function, in steps.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "rebuilds"))
import small_programs

HERE = pathlib.Path(__file__).resolve().parent
LEVELS = ("-O0", "-O2")
FAULTS = {-11, -7}


class Bench:
    def __init__(self, prefix, folder, mode=None):
        self.folder = folder
        self.reports = folder / "reports"
        self.mode = [f"-recrash-mode={mode}"] if mode else []
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("RECRASH_")}
        self.environment.update(PATH=f"{prefix}/bin:{os.environ['PATH']}", RECRASH_DIR=str(self.reports), HOME=str(folder))

    def run(self, *words):
        return subprocess.run([str(word) for word in words], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, check=False)

    def compile(self, source, level, name):
        done = self.run("recrash-clang++", level, "-g", *self.mode, source, "-o", self.folder / name)
        if done.returncode != 0:
            sys.exit(done.stderr.decode(errors="replace"))
        return self.folder / name

    def crash(self, program, *arguments):
        """The report of a run, or None, how it ended, and what it printed."""
        for old in self.reports.glob("*"):
            old.unlink()
        (self.folder / "flip-once").touch()
        ended = self.run(program, *arguments)
        return next(iter(self.reports.glob("*.rcr")), None), ended.returncode, ended.stdout

    def shown(self, report):
        done = self.run("recrash", "show", report, "--json", "shown.json")
        return json.loads((self.folder / "shown.json").read_text()) if done.returncode == 0 else None

    def named(self, report, program):
        """What `recrash reproduce` says of flipped bits."""
        result = self.folder / "result.json"
        result.unlink(missing_ok=True)
        self.run("recrash", "reproduce", report, "--program", program, "-o", "tests", "--force", "--no-build", "--json", result)
        return json.loads(result.read_text())["flipped_bits"] if result.exists() else []


def flip_pointers(bench, kinds, bits, step, again):
    for level in LEVELS:
        program = bench.compile(HERE / "flips.cc", level, f"flips{level}")
        for number, kind in enumerate(kinds or bench.run(program, "--list").stdout.decode().split()):
            if kind == "code":
                continue
            for bit in bits[number % step::step]:
                report, ended, printed = bench.crash(program, kind, bit, *again)
                row = {"kind": kind, "level": level, "bit": bit, "ended": ended, "counts": False, "named": []}
                if report and ended in FAULTS:
                    row["counts"] = b"leads nowhere" in printed
                    row["named"] = bench.named(report, program)
                    row["right"] = any(f"bit {bit} of " in name for name in row["named"])
                yield row


def flip_code(bench, steps):
    for level in LEVELS:
        program = bench.compile(HERE / "flips.cc", level, f"flips{level}")
        for bit in range(0, 8 * steps, 7):
            report, ended, _ = bench.crash(program, "code", bit)
            if not report:
                continue
            named = bench.shown(report)["flipped_bits"]
            right = any(f"bit {bit % 8} of the byte of code" in name for name in named)
            yield {"kind": "code", "level": level, "bit": bit, "ended": ended, "counts": True, "named": named, "right": right}


def say(title, rows):
    counted = [row for row in rows if row["counts"]]
    right = [row for row in counted if row["right"]]
    wrong = [row for row in rows if row["named"] and not row.get("right")]
    share = f"{100 * len(right) / len(counted):.1f} %" if counted else "-"
    print(f"{title}: {len(rows)} flips, {len(counted)} crashed by it, {len(right)} named ({share}), {len(wrong)} named wrongly")
    for kind in sorted({row["kind"] for row in counted}):
        for level in LEVELS:
            of = [row for row in counted if row["kind"] == kind and row["level"] == level]
            missed = [row["bit"] for row in of if not row["right"]]
            print(f"  {kind:16} {level}  {len(of) - len(missed)} of {len(of)}" + (f", not bits {missed}" if missed else ""))
    for row in wrong:
        print("  wrong:", row)


def alarms(bench, programs):
    """Gives how many crashes are named though no bit flipped. What does not crash says nothing."""
    crashed, named = 0, 0
    for source in programs:
        for level in LEVELS:
            compiler = "recrash-clang" if source.is_c else "recrash-clang++"
            program = bench.folder / "program"
            library = bench.folder / "library.so"
            words = ["-g", level, *([] if source.is_c else ["-std=c++20"]), *bench.mode, *source.flags]
            if source.library:
                bench.run(compiler, *words, "-DLIBRARY", "-shared", "-fPIC", source.file, "-o", library)
                words.append(library)
            if bench.run(compiler, source.file, *words, "-o", program, "-pthread").returncode != 0:
                print(f"  {source.name} {level}: does not compile")
                continue
            arguments = source.place_input(bench.folder)
            for _ in range(source.tries):
                report, _, _ = bench.crash(program, *arguments)
                if report:
                    break
            if not report:
                print(f"  {source.name} {level}: does not crash")
                continue
            crashed += 1
            said = bench.named(report, program)
            named += bool(said)
            if said:
                print(f"  {source.name} {level}: {said}")
    print(f"alarms: {crashed} crashes, {named} named")
    return named


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prefix", type=pathlib.Path, default=pathlib.Path("build/prefix"))
    parser.add_argument("--bits", default="12-63")
    parser.add_argument("--step", type=int, default=1, help="each kind begins with another bit, and takes each so many bits")
    parser.add_argument("--kinds", default="")
    parser.add_argument("--mode")
    parser.add_argument("--again", action="store_true", help="the flip happens in replays, too")
    parser.add_argument("--code-bytes", type=int, default=120)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--alarms", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    first, last = map(int, options.bits.split("-"))
    with tempfile.TemporaryDirectory(prefix="recrash-flips.") as folder:
        bench = Bench(options.prefix.resolve(), pathlib.Path(folder), options.mode)
        if options.alarms is not None:
            given = [small_programs.read("other", source.resolve()) for source in options.alarms]
            sys.exit(1 if alarms(bench, given or small_programs.all_programs().values()) else 0)
        kinds = [kind for kind in options.kinds.split(",") if kind]
        pointers = [] if kinds == ["code"] else list(flip_pointers(bench, kinds, range(first, last + 1), options.step, ["again"] if options.again else []))
        code = list(flip_code(bench, options.code_bytes)) if not kinds or "code" in kinds else []
        for title, rows in (("pointers", pointers), ("code", code)):
            if rows:
                say(title, rows)
        if options.json:
            options.json.write_text(json.dumps(pointers + code, indent=1) + "\n")
        sys.exit(1 if any(row["named"] and not row.get("right") for row in pointers + code) else 0)


if __name__ == "__main__":
    main()
