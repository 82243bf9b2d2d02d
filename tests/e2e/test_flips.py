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

    def flip(self, program, kind, bit, *again):
        (self.path / "flip-once").touch()
        return self.crash(program, kind, bit, *again, died_of=signal.SIGSEGV, tries=1)

    def named(self, program, report):
        return self.reproduce(program, report=report, expect=None)["flipped_bits"]


class Pointers(Flips):
    def check(self, bit):
        for level, program, kind in self.each_kind(FLIPS):
            if kind == "code":
                continue
            with self.subTest(level=level, kind=kind):
                named = self.named(program, self.flip(program, kind, bit))
                self.assertEqual(len(named), 1, self.output.stderr)
                self.assertRegex(named[0], rf"^bit {bit} of the (pointer|address of a function) in ")
                self.assertIn(" returns; a fault of the machine's memory is likely", named[0])

    def test_that_lead_to_no_address(self):
        self.check(NOT_CANONICAL)

    def test_that_lead_nowhere(self):
        self.check(NOT_MAPPED)

    def test_are_said_in_the_tests_and_by_the_command(self):
        program = self.compile(FLIPS, output="program")
        named = self.named(program, self.flip(program, "list", NOT_MAPPED))[0]
        self.assertRegex(named, r"^bit 40 of the pointer in r.. was flipped \(0x[0-9a-f]+ in place of 0x[0-9a-f]+\): with it put "
                                r"right SumOf returns; a fault of the machine's memory is likely$")
        self.assertIn(named, self.output.stderr)
        self.assertIn("// Hardware bit 40 of the pointer", (self.path / "tests/crash_test.cc").read_text())


    # Memory does not fail in the same way twice.
    def test_that_the_program_makes_again_are_its_own(self):
        program = self.compile(FLIPS, output="program")
        named = self.named(program, self.flip(program, "list", NOT_MAPPED, "again"))[0]
        self.assertIn("bit 40 of the pointer in rdi is wrong", named)
        self.assertIn("main, called again, makes another such pointer: the program does it, not the machine", named)


class Bugs(Flips):
    def test_that_look_alike_are_none_of_the_machines(self):
        for level, program, kind in self.each_kind(NO_FLIPS):
            with self.subTest(level=level, kind=kind):
                report = self.crash(program, kind, died_of=signal.SIGSEGV)
                named = self.reproduce(program, report=report, expect=None)["flipped_bits"]
                # An index that is wrong by a power of two looks like a bit, until it comes back.
                self.assertEqual([name for name in named if "the program does it" not in name], [])


class Code(Flips):
    MODES = ("references", "references+second-chance", "adaptive")

    def test_is_named(self):
        for mode in self.MODES:
            with self.subTest(mode=mode):
                program = self.compile(FLIPS, output="program", flags=("-O2", "-g", f"-recrash-mode={mode}"))
                named = 0
                for bit in range(40, 200, 9):  # an entry is patched
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
        program = self.compile_text("volatile unsigned g = 1; int main() { g = 0x12345678; return *(volatile int*)(long)(g - g); }\n")
        there = self.path / "there"
        code = bytearray(program.read_bytes())
        constant = bytes.fromhex("78563412")
        self.assertEqual(code.count(constant), 1)
        code[code.find(constant)] ^= 0x40
        there.write_bytes(code)
        there.chmod(0o755)
        self.run_command(there, expect=None)
        report = next(self.reports.glob("*.rcr"))
        shown = self.run_command("recrash", "show", report, "--program", program).stdout
        self.assertRegex(shown, r"hardware: bit 6 of the byte of code at (there|program)\+0x[0-9a-f]+, in main")
        self.assertNotIn("hardware", self.run_command("recrash", "show", report, "--program", there).stdout)


if __name__ == "__main__":
    unittest.main()
