#!/usr/bin/env python3
"""Follows the guides literally, as a new user would, and compares what comes out with what they show.

  docs/guides/follow.py PREFIX                     all guides, with the recrash that is installed in PREFIX
  docs/guides/follow.py PREFIX --write second.md   one guide; what came out takes the place of what it shows

A guide's session stands in blocks that begin with ```console. A line that begins with "$ " is a command, and lines that
begin with "> " continue it. All commands of a guide run in one shell, in an empty home folder, in which ~/recrash has the
samples, the tests and the installation. A shown line "..." stands for any lines. Times, sizes, addresses, process numbers and dates
differ from run to run: they are not compared.
"""

import argparse
import difflib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SHOWN_HOME = "/home/ada"

# What differs from run to run, and from machine to machine.
VARIABLE = [
    (r"\d{8}-\d{6}-\d+", "STAMP"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", "DATE"),
    (r"\b[0-9a-f]{40}\b", "BUILD-ID"),
    (r"\b(pid|process) \d+", r"\1 N"),
    (r"0x[0-9a-f]{4,}", "ADDRESS"),
    (r"__(\w+)_(evex|avx2|sse2|evex512)\b|(\w+)-(evex|avx2|sse2|evex512)\.S:\d+", "STRING-FUNCTION"),
    (r"\d+(\.\d+)?( of \d+)? (ms|s|us|KiB|MiB|bytes)\b", r"N \3"),
    (r"\d+(\.\d+)? sec\b", "N sec"),
    (r"\d+ (regions|entries|texts)\b", r"N \1"),
    (r"\bbefore \d+", "before N"),
    (r"guid=[0-9a-f-]{36}", "guid=GUID"),
    # It draws another nickname in each replay.
    (r"(main +random_crash.cc:44) .*", r"\1 ANY"),
    (r"recrash: these frames reproduce in some runs only, and have no test: 3\n?", ""),
    # A profile's functions stand in the order of what they cost.
    (r"\d+\.\d +[0-9a-f]{12} .*", "COST BUILD-ID FUNCTION"),
    (r"replayed \d+ times", "replayed N times"),
    (r" +", " "),
]


class Shell:
    """One bash in a home of its own."""

    def __init__(self, prefix):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="recrash-guide."))
        self.prefix = prefix
        clone = self.home / "recrash"
        (clone / "build").mkdir(parents=True)
        for folder in ("samples", "tests"):
            (clone / folder).symlink_to(ROOT / folder)
        (clone / "build/prefix").symlink_to(prefix)
        environment = {"HOME": str(self.home), "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "TERM": "dumb"}
        self.bash = subprocess.Popen(["bash", "--norc"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     stderr=subprocess.STDOUT, cwd=self.home, env=environment, text=True)

    def run(self, command):
        # In braces, so that the command reads nothing of what comes after it, and `cd` and `export` stay.
        self.bash.stdin.write(f"{{ {command}\n}} < /dev/null\necho; echo recrash-guide-done\n")
        self.bash.stdin.flush()
        lines = []
        for line in self.bash.stdout:
            if line == "recrash-guide-done\n":
                break
            lines.append(line)
        else:
            raise SystemExit(f"the shell ended in: {command}")
        text = "".join(lines)
        text = text[:-1] if text.endswith("\n") else text  # of `echo`
        text = text.replace(str(self.home), SHOWN_HOME).replace(str(self.prefix), SHOWN_HOME + "/recrash/build/prefix")
        text = text.replace(str(ROOT), SHOWN_HOME + "/recrash")
        # An interactive shell says it without the line of a script.
        return re.sub(r"^bash: line \d+: +\d+ (Segmentation fault|Aborted).*$", r"\1", text, flags=re.M)

    def close(self):
        self.bash.stdin.close()
        self.bash.wait()
        shutil.rmtree(self.home)


def steps(block):
    """(command as shown, command, output as shown) of a block."""
    found = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append([[line], line[2:], []])
        elif line.startswith("> ") and found and not found[-1][2]:
            found[-1][0].append(line)
            found[-1][1] += "\n" + line[2:]
        elif found:
            found[-1][2].append(line)
    return found


def comparable(text):
    for pattern, name in VARIABLE:
        text = re.sub(pattern, name, text)
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def matches(shown, came):
    """Whether `came` is what `shown` says, where "..." stands for any lines."""
    shown, came = comparable("\n".join(shown)), comparable(came)
    pattern = "".join("(.*\n)*?" if line == "..." else re.escape(line) + "\n" for line in shown)
    return re.fullmatch(pattern, "".join(line + "\n" for line in came)) is not None


def follow(guide, prefix, write):
    text = guide.read_text()
    shell = Shell(prefix)
    wrong = 0

    def replay(match):
        nonlocal wrong
        lines = []
        for shown_command, command, shown in steps(match.group(1)):
            came = shell.run(command)
            same = matches(shown, came)
            if not same:
                wrong += 1
                if not write:
                    print(f"{guide.name}: another output of: {command}")
                    print("\n".join(difflib.unified_diff(comparable("\n".join(shown)), comparable(came), "shown", "came", "", "")))
            lines += shown_command + (shown if same else came.splitlines())
        return "```console\n" + "\n".join(lines) + "\n```"

    written = re.sub(r"```console\n(.*?)\n```", replay, text, flags=re.S)
    shell.close()
    if write and wrong:
        guide.write_text(written)
    print(f"{guide.name}: {wrong} commands with another output")
    return wrong and not write


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prefix", type=pathlib.Path)
    parser.add_argument("guide", nargs="*")
    parser.add_argument("--write", action="store_true", help="put what came out into the guides")
    arguments = parser.parse_args()
    guides = [HERE / name for name in arguments.guide] or sorted(
        file for file in HERE.glob("*.md") if "```console\n$" in file.read_text())
    failed = [guide.name for guide in guides if follow(guide, arguments.prefix.resolve(), arguments.write)]
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
