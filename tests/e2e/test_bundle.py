#!/usr/bin/env python3
"""From a report to a bug report: one .zip, a text to paste, and tests made from the .zip on another machine."""

import io
import random
import re
import shutil
import signal
import struct
import zipfile

from harness import Workspace, main

# It knows a password, and has it in memory, on its command line and in its environment.
PROGRAM = """
#include <cstdio>
#include <cstdlib>
#include <cstring>
struct Account { const char* name; };
__attribute__((noinline)) size_t Length(const Account* account) { return static_cast<size_t>(account->name[0]); }
__attribute__((noinline)) size_t Greet(const Account* account) { return Length(account) + 1; }
int main(int argc, char** argv) {
  Account account = {argc > 9 ? argv[1] : nullptr};
  std::printf("%zu\\n", Greet(&account));
}
"""
LARGE = """
#include <cstdint>
#include <cstdlib>
#include <vector>
__attribute__((noinline)) int Read(const int* target) { return *target + 1; }
int main(int argc, char** argv) {
  uint64_t state = 1;
  std::vector<uint64_t> noise(std::atoi(argv[1]) * 131072ul);
  for (uint64_t& word : noise) word = (state = state * 6364136223846793005 + 1442695040888963407) ^ state >> 33;
  return Read(argc > 9 ? reinterpret_cast<int*>(noise.data()) : nullptr) + 1;
}
"""


class BundleCase(Workspace):
    def crash_program(self):
        self.program = self.compile_text(PROGRAM, flags=("-O2", "-g", "-recrash-version=1.2.3"))
        self.report = self.crash(self.program, "argument_horse", died_of=signal.SIGSEGV, env={"TOKEN": "variable_horse"})

    def bundle(self, *words, expect=0):
        self.said = self.run_command("recrash", "bundle", *words, expect=expect)
        return self.said

    def go_elsewhere(self):
        """As on a machine that has neither the report nor its mark."""
        shutil.rmtree(self.reports)
        shutil.rmtree(self.path / ".local")


class Bundle(BundleCase):
    def setUp(self):
        super().setUp()
        self.crash_program()

    def test_is_enough_to_reproduce_the_crash_elsewhere(self):
        self.bundle("--program", self.program)
        name = f"{self.report.stem}.zip"
        zipped = zipfile.ZipFile(self.path / name)
        self.assertEqual(sorted(zipped.namelist()), sorted(["README.md", f"{self.report.stem}.rcr", f"{self.report.stem}.dmp"]))
        self.assertIsNone(zipped.testzip())
        self.assertEqual(zipped.read(f"{self.report.stem}.rcr"), self.report.read_bytes())
        self.assertEqual(zipped.read(f"{self.report.stem}.dmp"), self.report.with_suffix(".dmp").read_bytes())
        self.go_elsewhere()
        # The commands as they stand there, but for the place of the program.
        commands = re.findall(r"^    (recrash reproduce .*|.*/crash_test)$", zipped.read("README.md").decode(), re.M)
        self.assertEqual(len(commands), 2, commands)
        first, second = (command.replace("PATH/", f"{self.path}/") for command in commands)
        out = self.run_command("sh", "-c", first)
        self.assertIn("recrash: reproduced: SIGSEGV in Length at program.cc:6", out.stdout)
        self.assertIn("was not written on this machine by you", out.stderr)
        self.assertIn("[  FAILED  ]", self.run_command("sh", "-c", second, expect=1).stdout)

    def test_prints_a_title_and_a_text_and_nothing_of_the_memory(self):
        self.bundle("--program", self.program, "-o", "bug.zip")
        title, _, text = self.said.stdout.partition("\n\n")
        self.assertEqual(title, "program 1.2.3: SIGSEGV in Length at program.cc:6")
        build_id = re.search(r"Build ID: (\w+)", self.run_command("readelf", "-n", self.program).stdout)[1]
        for part in ("    #0   Length(Account const*)  ", "    #2   main  ", "    version   1.2.3\n", f"    build-id  {build_id}\n",
                     "    program   ~/program\n", "    recrash reproduce bug.zip --program PATH/program -o bug-tests\n"):
            self.assertIn(part, text)
        read_me = zipfile.ZipFile(self.path / "bug.zip").read("README.md").decode()
        self.assertIn(text, read_me)
        for secret in ("argument_horse", "variable_horse", str(self.path)):
            self.assertNotIn(secret, self.said.stdout)
            self.assertNotIn(secret, read_me)

    def test_says_what_is_in_it_before_it_is_sent(self):
        said = self.bundle("--program", self.program, "-o", "bug.zip").stderr
        for part in ("taken by GitHub (25 MB), GitLab (10 MB), Bugzilla (1 MB)", "KiB of memory", "recrash show bug.zip --strings",
                     "variables of the environment", "recrash show bug.zip --env", "recrash show bug.zip --files", "a minidump of",
                     "recrash redact "):
            self.assertIn(part, said)
        # Each of these commands works.
        for option, secret in (("--strings", "argument_horse"), ("--env", "TOKEN=variable_horse")):
            self.assertIn(secret, self.run_command("recrash", "show", "bug.zip", option).stdout)
        self.run_command("recrash", "redact", "bug.zip", "--env", "--strings", "_horse", "-o", "clean.rcr")
        self.assertNotIn("_horse", self.run_command("recrash", "show", "clean.rcr", "--strings").stdout)

    def test_of_a_redacted_report_has_no_minidump(self):
        self.run_command("recrash", "redact", self.report, "--env", "--strings", "_horse", "-o", "clean.rcr")
        shutil.copy(self.report.with_suffix(".dmp"), self.path / "clean.dmp")
        self.assertIn(b"argument_horse", (self.path / "clean.dmp").read_bytes())
        self.bundle("clean.rcr", "--program", self.program)
        self.assertIn("no minidump: it has what `recrash redact` took out of the report", self.said.stderr)
        zipped = zipfile.ZipFile(self.path / "clean.zip")
        self.assertEqual(zipped.namelist(), ["README.md", "clean.rcr"])
        self.assertNotIn("_horse", self.run_command("recrash", "show", "clean.zip", "--strings").stdout)
        self.reproduce(self.program, report="clean.zip")

    def test_leaves_a_minidump_of_another_crash_out(self):
        minidump = self.report.with_suffix(".dmp")
        content = bytearray(minidump.read_bytes())
        struct.pack_into("<I", content, 20, struct.unpack_from("<I", content, 20)[0] - 3600)
        for other in (bytes(content), b"something else", b""):
            minidump.write_bytes(other)
            self.bundle("-o", "bug.zip")
            self.assertIn("no minidump: the one beside the report is not of this crash", self.said.stderr)
            self.assertNotIn(".dmp", " ".join(zipfile.ZipFile(self.path / "bug.zip").namelist()))
            (self.path / "bug.zip").unlink()
        minidump.unlink()
        self.assertIn("no minidump: the report has none beside it", self.bundle("-o", "bug.zip").stderr)
        self.assertIn("no minidump: you asked for that", self.bundle("-o", "other.zip", "--no-minidump").stderr)

    def test_replaces_no_file(self):
        for name in ("bug.zip", "link.zip"):
            (self.path / "bug.zip").write_text("mine") if name == "bug.zip" else (self.path / name).symlink_to("nowhere")
            self.assertIn("is there already", self.bundle("-o", name, expect=2).stderr)
        self.assertEqual((self.path / "bug.zip").read_text(), "mine")
        self.assertFalse((self.path / "nowhere").exists())
        self.assertIn("ends in .zip", self.bundle("-o", "bug.rcr", expect=2).stderr)
        self.assertIn("choose a directory that exists", self.bundle("-o", "none/bug.zip", expect=4).stderr)
        self.assertEqual((self.path / "bug.zip").stat().st_size, 4)

    def test_is_readable_by_its_owner_alone(self):
        self.bundle("-o", "bug.zip")
        self.assertEqual((self.path / "bug.zip").stat().st_mode & 0o777, 0o600)

    def test_without_the_program_has_offsets(self):
        self.program.unlink()
        self.bundle()
        self.assertIn("recrash: no frames in it: ", self.said.stderr)
        self.assertRegex(self.said.stdout, r"^program 1\.2\.3: SIGSEGV in program\+0x[0-9a-f]+\n")
        self.assertIn("    frames are not known: ", self.said.stdout)

    def test_a_zip_file_made_by_hand_is_one_too(self):
        with zipfile.ZipFile(self.path / "hand.zip", "w", zipfile.ZIP_DEFLATED) as made:
            made.write(self.report, "crash.rcr")
        self.go_elsewhere()
        self.assert_reproduced(self.reproduce(self.program, report="hand.zip"), "Length", "Greet")

    def test_of_tests_is_refused(self):
        self.reproduce(self.program, report=self.report, build=True)
        self.run_command("recrash", "redact", "tests", "--to-tests")
        self.assertIn("pass its folder on", self.bundle("tests/crash_test.rcr", expect=4).stderr)


class Sizes(BundleCase):
    def setUp(self):
        super().setUp()
        self.program = self.compile_text(LARGE)

    def test_a_tracker_may_take_it_without_its_minidump(self):
        self.crash(self.program, "1", died_of=signal.SIGSEGV)
        whole = self.bundle("-o", "whole.zip").stderr
        self.assertIn("taken by GitHub (25 MB), GitLab (10 MB); not by Bugzilla (1 MB)", whole)
        size = (self.path / "whole.zip").stat().st_size
        limit = size - 1000
        self.bundle("-o", "less.zip", "--max-size", limit)
        self.assertIn("no minidump: with it the bundle has ", self.said.stderr)
        self.assertLess((self.path / "less.zip").stat().st_size, size)
        self.assertNotIn(".dmp", " ".join(zipfile.ZipFile(self.path / "less.zip").namelist()))
        self.reproduce(self.program, report="less.zip")

    def test_one_that_fits_nowhere_is_an_error_with_a_way_out(self):
        self.crash(self.program, "2", died_of=signal.SIGSEGV)
        refused = self.bundle("--for", "bugzilla", expect=4).stderr
        self.assertRegex(refused, r"^recrash: error: the bundle would have 2\.\d MiB, without the minidump, and Bugzilla takes 1 MB\n"
                                  r"  put it where others can fetch it, and paste its address\n$")
        self.assertEqual(list(self.path.glob("*.zip*")), [])
        self.bundle("--for", "gitlab")
        self.assertEqual(len(list(self.path.glob("*.zip"))), 1)
        self.assertEqual(self.bundle("--for", "gitlab", "--max-size", "5MB", expect=2).stdout, "")
        self.bundle("--for", "sourceforge", expect=2)
        for size in ("5 bananas", "-5", "0", "", " ", "99999999999999999999", "1e9", "MB", "5MBMB"):
            self.assertIn("--max-size", self.bundle(f"--max-size={size}", "-o", "x.zip", expect=2).stderr)
        for size in ("5MB", "5 mib", "5000000", "5000kB", "1GB"):
            self.bundle("--max-size", size, "-o", "fits.zip")
            (self.path / "fits.zip").unlink()

    def test_contents_of_files_can_be_taken_out(self):
        (self.path / "input").write_bytes(random.Random(1).randbytes(2_000_000))
        self.crash("./program", "0", "input", died_of=signal.SIGSEGV, env={"RECRASH_OPTIONS": "files=embed"})
        self.assertIn("take contents of files out", self.bundle("--for", "bugzilla", expect=4).stderr)
        self.assertIn("contents of 1 file,", self.bundle("-o", "whole.zip").stderr)
        self.run_command("recrash", "redact", "whole.zip", "--files", "-o", "smaller.rcr")
        self.bundle("smaller.rcr", "--for", "bugzilla")


class Raw(BundleCase):
    def test_is_a_report_too(self):
        program = self.compile_text(PROGRAM)
        self.run_command(program, expect=-signal.SIGSEGV, env={"RECRASH_COLLECTOR": "/nowhere"})
        report, = self.reports.glob("*.rcraw")
        self.bundle(report, "--program", program, "-o", "bug.zip")
        self.assertIn(report.name, zipfile.ZipFile(self.path / "bug.zip").namelist())
        self.assertLess((self.path / "bug.zip").stat().st_size, report.stat().st_size // 2)
        self.assert_reproduced(self.reproduce(program, report="bug.zip"), "Length", "Greet")


class Hostile(BundleCase):
    def setUp(self):
        super().setUp()
        self.crash_program()
        self.bundle("-o", "good.zip", "--program", self.program)
        self.good = (self.path / "good.zip").read_bytes()
        self.go_elsewhere()

    def expect_refused(self, content, *words):
        (self.path / "bad.zip").write_bytes(content)
        before = sorted(self.path.rglob("*"))
        refused = self.run_command("recrash", *(words or ("show",)), "bad.zip", expect=3)
        self.assertRegex(refused.stderr, r"^recrash: error: bad\.zip: [^\n]+\n(  [^\n]+\n)*$")
        self.assertEqual(refused.stdout, "")
        self.assertEqual(sorted(self.path.rglob("*")), before)
        return refused.stderr

    def zip_of(self, *members, method=zipfile.ZIP_STORED):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", method) as made:
            for name, content in members:
                made.writestr(name, content)
        return out.getvalue()

    def test_names_lead_nowhere(self):
        report = zipfile.ZipFile(io.BytesIO(self.good)).read("README.md")
        for name in ("../up.rcr", "/tmp/recrash_up.rcr", "a/../../up.rcr", "..\\up.rcr", "x.sh", "\33[2Jx.rcr/", "crash_test.cc"):
            for words in (("show",), ("reproduce", "-o", "t"), ("redact", "--env", "-o", "r.rcr"), ("bundle", "-o", "o.zip")):
                self.assertNotIn("\33", self.expect_refused(self.zip_of((name, report)), *words))

    def test_bombs_are_not_unpacked(self):
        bomb = self.zip_of(("a.rcr", bytes(400 << 20)), method=zipfile.ZIP_DEFLATED)
        self.assertLess(len(bomb), 1 << 20)
        self.assertIn("at most 268435456 are read", self.expect_refused(bomb))
        at = bomb.rfind(b"PK\1\2")
        self.expect_refused(bomb[:at + 24] + struct.pack("<I", 100) + bomb[at + 28:])

    def test_damage_is_found_wherever_it_is(self):
        shown = self.run_command("recrash", "show", "good.zip").stdout.replace("good", "bad")
        places = random.Random(1).sample(range(len(self.good)), 150)
        for at in places:
            content = self.good[:at] + bytes([self.good[at] ^ 0xff]) + self.good[at + 1:]
            (self.path / "bad.zip").write_bytes(content)
            result = self.run_command("recrash", "show", "bad.zip", expect=None)
            self.assertIn((result.returncode, result.stdout if result.returncode == 0 else ""), ((3, ""), (0, shown)), at)
            self.expect_refused(self.good[:at])

    def test_two_reports_or_none_are_no_bundle(self):
        report = zipfile.ZipFile(io.BytesIO(self.good)).read("README.md")
        self.expect_refused(self.zip_of(("a.rcr", report), ("b.rcr", report)))
        self.expect_refused(self.zip_of(("README.md", report)))
        self.expect_refused(self.zip_of(("a.rcr", b"not a report")))


if __name__ == "__main__":
    main()
