"""recrash why: for each kind of origin a small program in `why/`, whose trail is compared as text.

NAME.txt beside NAME.cc is its trail without optimisation; `test_why.py --write` writes them: read the difference before it is
committed. With optimisation the trail comes to the same cause: the line that ends in `// cause`.
"""

import json
import pathlib
import re
import shutil
import signal
import struct
import sys
import unittest

import harness

WRITE = "--write" in sys.argv
SOURCES = pathlib.Path(__file__).resolve().parent / "why"
# The memory of the crash holds what the cause left behind, so main's own has to be known.
FROM_THE_BEGINNING = ("earlier_call",)
# With optimisation a constant has the line of its function, a function that ends in a jump to free() has no frame, and what is
# chosen without a value is not chosen at all.
NOT_OPTIMISED = ("bad_index", "freed", "reused", "uninitialised")


def normalised(text):
    """Without addresses, times and counts, which differ from run to run."""
    text = re.sub(r"0x[0-9a-f]{6,}", "ADDRESS", text)
    text = re.sub(r"descriptor \d+", "descriptor N", text)
    return re.sub(r"replayed \d+ times from (.*), in [0-9.]+ s", r"replayed from \1", text)


class Trails(harness.Workspace):
    def explain(self, name, level, *options):
        # The source beside the program: assertions name it.
        shutil.copy(SOURCES / f"{name}.cc", self.path)
        program = self.compile(f"{name}.cc", output=f"{name}{level}", flags=("-std=c++20", f"-O{level}", "-g", "-w"))
        (self.path / "input").write_bytes(struct.pack("<II", 1, 0x30000000))
        dies_of = signal.SIGABRT if name in ("assertion", "floating") else signal.SIGSEGV
        self.crash(program, "input", died_of=dies_of)
        rerun = ("--rerun",) if name in FROM_THE_BEGINNING else ()
        return self.run_command("recrash", "why", "--program", program, *rerun, *options).stdout

    def test_as_text(self):
        for source in sorted(SOURCES.glob("*.cc")):
            with self.subTest(source.stem):
                told = normalised(self.explain(source.stem, 0))
                expected = source.with_suffix(".txt")
                if WRITE:
                    expected.write_text(told)
                self.assertEqual(told, expected.read_text())
                self.assertIn("// cause", told)

    def test_optimised(self):
        for source in sorted(SOURCES.glob("*.cc")):
            if source.stem in NOT_OPTIMISED:
                continue
            cause = next(number for number, line in enumerate(source.read_text().splitlines(), 1) if line.endswith("// cause"))
            with self.subTest(source.stem):
                links = json.loads(self.explain(source.stem, 2, "--json", "-"))["links"]
                self.assertIn(cause, [link["line"] for link in links])


class Refused(harness.Workspace):
    def crashed(self):
        program = self.compile_text("int main(int count, char** words) { return *reinterpret_cast<int*>(count - 1); }")
        self.crash(program, died_of=signal.SIGSEGV)
        return program

    def test_another_build(self):
        program = self.crashed()
        self.reproduce(program)
        other = self.compile_text("int main() { return 1; }", output="other")
        said = self.run_command("recrash", "why", "tests", "--program", other, expect=None)
        self.assertNotEqual(said.returncode, 0)
        self.assertEqual(said.stdout, "")

    def test_nothing_reproduces(self):
        program = self.compile_text("#include <unistd.h>\n"
                                    "int main() { if (getppid() != 0) __builtin_trap(); }", output="main_alone")
        self.crash(program, died_of=signal.SIGILL)
        said = self.run_command("recrash", "why", "--program", program, "--frame", "77", expect=4)
        self.assertIn("frame 77 does not reproduce", said.stderr)


if __name__ == "__main__":
    if WRITE:
        sys.argv.remove("--write")
    unittest.main()
