"""Bits of a running program flip: reproduce names the pointer, show the code. Of bugs that look alike nothing is said."""

import signal
import unittest

from harness import SOURCE, Workspace

FLIPS = SOURCE / "tests/flips/flips.cc"
NO_FLIPS = SOURCE / "tests/flips/no_flips.cc"
LEVELS = ("-O0", "-O2")
NOT_CANONICAL, NOT_MAPPED = 60, 40


class Flips(Workspace):
    def each_kind(self, source):
        for level in LEVELS:
            program = self.compile(source, output="program", flags=(level, "-g"))
            for kind in self.run_command(program, "--list").stdout.split():
                yield level, program, kind

    def assert_named(self, flags=("-O2", "-g"), kind="list", bit=NOT_MAPPED):
        program = self.compile(FLIPS, output="program", flags=flags)
        report = self.crash(program, kind, bit, died_of=signal.SIGSEGV)
        named = self.reproduce(program, report=report)["flipped_bits"]
        self.assertEqual(len(named), 1)
        return named[0]


class Pointers(Flips):
    def named(self, program, report):
        return self.reproduce(program, report=report, expect=None)["flipped_bits"]

    def check(self, bit):
        for level, program, kind in self.each_kind(FLIPS):
            if kind == "code":
                continue
            with self.subTest(level=level, kind=kind):
                report = self.crash(program, kind, bit, died_of=signal.SIGSEGV)
                named = self.named(program, report)
                self.assertEqual(len(named), 1, self.output.stderr)
                self.assertRegex(named[0], rf"^bit {bit} of the (pointer|address of a function) in ")
                self.assertIn("with it put right", named[0])

    def test_that_lead_to_no_address(self):
        self.check(NOT_CANONICAL)

    def test_that_lead_nowhere(self):
        self.check(NOT_MAPPED)

    def test_are_said_in_the_tests_and_by_the_command(self):
        named = self.assert_named()
        self.assertIn("of the pointer in r", named)
        self.assertIn("SumOf returns; a fault of the machine's memory is likely", named)
        self.assertIn(named, self.output.stderr)
        self.assertIn("// Hardware bit 40 of the pointer", (self.path / "tests/crash_test.cc").read_text())


class Bugs(Flips):
    def test_that_look_alike_are_not_named(self):
        for level, program, kind in self.each_kind(NO_FLIPS):
            with self.subTest(level=level, kind=kind):
                report = self.crash(program, kind, died_of=signal.SIGSEGV)
                self.assertEqual(self.reproduce(program, report=report, expect=None)["flipped_bits"], [])


class Code(Flips):
    MODES = ("references", "references+second-chance", "adaptive")

    def test_is_named(self):
        for mode in self.MODES:
            with self.subTest(mode=mode):
                program = self.compile(FLIPS, output="program", flags=("-O2", "-g", f"-recrash-mode={mode}"))
                named = 0
                for bit in range(0, 160, 9):
                    for old in self.reports.glob("*"):
                        old.unlink()
                    self.run_command(program, "code", bit, expect=None)
                    for report in self.reports.glob("*.rcr"):
                        shown = self.run_command("recrash", "show", report).stdout
                        self.assertRegex(shown, rf"hardware: bit {bit % 8} of the byte of code at program\+0x[0-9a-f]+, in Mix")
                        named += 1
                self.assertGreater(named, 0)

    # The page that processes share is the file's: it differs from the developer's file alone.
    def test_of_another_file_of_the_same_build_is_compared(self):
        program = self.compile_text("int main(int count, char**) { return *(volatile int*)(long)(count - 1); }\n")
        there = self.path / "there"
        code = bytearray(program.read_bytes())
        at = code.find(self.main_of(program))
        self.assertGreater(at, 0)
        code[at] ^= 0x40
        there.write_bytes(code)
        there.chmod(0o755)
        self.run_command(there, expect=None)
        report = next(self.reports.glob("*.rcr"))
        shown = self.run_command("recrash", "show", report, "--program", program).stdout
        self.assertRegex(shown, r"hardware: bit 6 of the byte of code at (there|program)\+0x[0-9a-f]+, in main")
        self.assertNotIn("hardware", self.run_command("recrash", "show", report, "--program", there).stdout)

    def main_of(self, program):
        """Its bytes, by the symbol table."""
        line = next(line for line in self.run_command("nm", "-S", program).stdout.splitlines() if line.endswith(" T main"))
        address, size = (int(word, 16) for word in line.split()[:2])
        dumped = self.run_command("objdump", "-d", f"--start-address={address}", f"--stop-address={address + size}", program).stdout
        rows = [row.split("\t") for row in dumped.splitlines() if "\t" in row]
        return bytes.fromhex("".join(row[1] for row in rows))


if __name__ == "__main__":
    unittest.main()
