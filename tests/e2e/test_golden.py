"""The generated tests of the samples are those in tests/e2e/golden, but for addresses, times and paths.

`test_golden.py --write` writes them: read the difference before it is committed.
"""

import pathlib
import re
import shutil
import signal
import sys
import unittest

import harness

WRITE = "--write" in sys.argv
GOLDEN = pathlib.Path(__file__).resolve().parent / "golden"

# sample, arguments, signal, flags of its own
CRASHES = [
    ("random_crash", (), signal.SIGSEGV, ()),
    ("bst", ("cast",), signal.SIGABRT, ()),
    ("bst", ("key",), signal.SIGABRT, ()),
    ("bst", ("encoding",), signal.SIGABRT, ()),
    ("missing_url", (), signal.SIGABRT, ()),
    ("side_effect", (), signal.SIGSEGV, ("-recrash-mode=full",)),
]


def normalised(text):
    """Without what differs from run to run, and from processor to processor."""
    text = re.sub(r"0x[0-9a-f]{5,16}", "0xADDRESS", text)
    text = re.sub(r"^// Crashed  .*", "// Crashed  TIME", text, flags=re.MULTILINE)
    text = re.sub(r"^(// Report   \w+?)-\d{8}-\d{6}-\d+.*", r"\1-TIME-PROCESS", text, flags=re.MULTILINE)
    text = re.sub(r'&"[^"]*/(\w+)"', r'&"\1"', text)
    text = re.sub(r'&"/[^",)]*\.\.\.', '&"PATH...', text)  # cut
    return re.sub(r"__strlen_\w+\(\.\.\.\)  strlen-\w+\.S:\d+", "strlen(...)", text)


class Golden(harness.Workspace):
    def check(self, sample, arguments, died_of, flags):
        # Here and now: the text shows the source, which has to lie where the program was compiled.
        shutil.copy(harness.SAMPLES / sample / f"{sample}.cc", self.path)
        self.run_command("recrash-clang++", "-O2", "-g", *flags, f"{sample}.cc", "-o", sample)
        program = self.path / sample
        report = self.crash(program, *arguments, died_of=died_of)
        self.reproduce(program, report=report)
        text = normalised((self.path / "tests/crash_test.cc").read_text())
        golden = GOLDEN / ("_".join((sample, *arguments)) + ".txt")
        if WRITE:
            golden.parent.mkdir(exist_ok=True)
            golden.write_text(text)
        self.assertEqual(text, golden.read_text(), f"{golden}: tests/e2e/test_golden.py --write writes it anew")


def case(*crash):
    return lambda self: self.check(*crash)


for crash in CRASHES:
    setattr(Golden, "test_" + "_".join((crash[0], *crash[1])), case(*crash))


class Normalised(unittest.TestCase):
    def test_leaves_what_a_change_of_recrash_changes(self):
        text = "// Crashed  2026-11-19 15:43:01 UTC\n  const int n = 3;  // 0x7ffc9fa9df18 {x = 3}\n"
        self.assertEqual(normalised(text), "// Crashed  TIME\n  const int n = 3;  // 0xADDRESS {x = 3}\n")


if __name__ == "__main__":
    sys.argv = [word for word in sys.argv if word != "--write"]
    harness.main()
