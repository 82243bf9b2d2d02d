#!/usr/bin/env python3
"""What a report holds, and what it does not."""

import json

from harness import Workspace, main

SIGSEGV = 11

NOT_DUMPABLE = """
#include <recrash/recrash.h>
#include <cstdlib>
#include <sys/prctl.h>
__attribute__((noinline)) void Store(int* cell) { *cell = 1; }
int main(int argc, char**) {
  prctl(PR_SET_DUMPABLE, 0);
  if (std::getenv("KEEP")) RECRASH_KEEP_MEMORY(1);
  Store(argc > 5 ? &argc : nullptr);
}
"""


class NotDumpable(Workspace):
    def setUp(self):
        super().setUp()
        self.program = self.compile_text(NOT_DUMPABLE)

    def test_leaves_a_report_without_memory_that_can_be_shown(self):
        report = self.crash(self.program, died_of=SIGSEGV)
        self.assertEqual(sorted(file.suffix for file in self.reports.iterdir()), [".rcr"])
        shown = self.run_command("recrash", "show", report, "--program", self.program).stdout
        self.assertIn("Store", shown)
        self.assertIn("holds 0 bytes of memory", shown)
        self.assertIn("lost: all memory: the program excludes itself from core dumps (PR_SET_DUMPABLE)", shown)
        result = self.run_command("recrash", "reproduce", report, "--program", self.program, "-o", "tests", expect=None)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("PR_SET_DUMPABLE", result.stdout + result.stderr)

    def test_may_ask_for_its_memory(self):
        self.crash(self.program, died_of=SIGSEGV, env={"KEEP": "1"})
        self.assert_reproduced(self.reproduce(self.program), "Store")


KEY = "correct_horse_b"  # short enough to lie in the string itself, on the stack, so that the minidump has it
MARKED = """
#include <recrash/recrash.h>
#include <cstdio>
#include <cstdlib>
#include <string>
struct Account { recrash::Sensitive<std::string> key; int* balance = nullptr; };
__attribute__((noinline)) void Book(Account* account, long amount) { *account->balance += amount; }
__attribute__((noinline)) void Settle(Account* account, const char* amount) {
  Book(account, std::atol(amount) + static_cast<long>(account->key.get().size()));
  std::puts("settled");
}
int main(int argc, char** argv) {
  Account account{recrash::Sensitive<std::string>(argv[1])};
  account.key.Change([](std::string& key) { for (char& c : key) c = static_cast<char>(c + 1); });
  if (argc == 3) account.key.Change([&](std::string&) { Settle(&account, "12"); });
  if (argc > 5) account.balance = &argc;
  Settle(&account, "12");
}
"""


class Marked(Workspace):
    def check(self, mode, crashes, *arguments):
        program = self.compile_text(MARKED, output="program", flags=("-O1", "-g", f"-recrash-mode={mode}"))
        coded = "".join(chr(ord(letter) - 1) for letter in KEY)
        for _ in range(crashes):
            report = self.crash(program, coded, *arguments, died_of=SIGSEGV)
        self.assert_reproduced(self.reproduce(program, report=report), "Book", "Settle")
        files = [*self.reports.iterdir(), *(self.path / "tests").glob("*.*")]
        self.assertIn(b"*" * len(KEY), b"".join(file.read_bytes() for file in files if file.suffix == ".dmp"))
        for file in files:
            for at in range(len(KEY) - 7):
                self.assertNotIn(KEY[at:at + 8].encode(), file.read_bytes(), file)

    def test_values_are_in_no_file_and_frames_reproduce(self):
        self.check("references", crashes=1)

    def test_nor_while_a_value_is_changed(self):
        self.check("references", 1, "change")

    def test_nor_are_they_in_entry_states(self):
        self.check("references+second-chance", crashes=2)


HELD = """
#include <cstdio>
#include <cstdlib>
#include <cstring>
struct User { char name[32]; int* balance; char* mail; };
__attribute__((noinline)) void Book(User* user) { *user->balance += std::strlen(user->name); }
__attribute__((noinline)) void Settle(User* user, const char* path) {
  std::FILE* file = std::fopen(path, "r");
  std::fgets(user->name, 8, file);
  Book(user);
  std::fclose(file);
}
int main(int argc, char** argv) {
  User user{"nobody", argc > 5 ? &argc : nullptr, strdup("ada@example.com")};
  Settle(&user, argv[1]);
  std::free(user.mail);
}
"""


class Redacted(Workspace):
    def show(self, report, *options):
        return self.run_command("recrash", "show", report, *options).stdout

    def test_reports_hold_nothing_of_it_and_frames_reproduce(self):
        program = self.compile_text(HELD, flags=("-O1", "-g"))
        (self.path / "input.txt").write_text("private")
        report = self.crash(program, "input.txt", died_of=SIGSEGV,
                            env={"TOKEN": "hunter2!", "MORE": "x" * 9000, "RECRASH_OPTIONS": "files=embed"})
        self.assertIn("TOKEN=hunter2!\n", self.show(report, "--env"))
        self.assertIn("  ada@example.com\n", self.show(report, "--strings"))
        self.assertRegex(self.show(report, "--files"), r"held  \S*input.txt\n")
        listed = json.loads(self.show(report, "--env", "--files", "--strings", "--json", "-"))
        self.assertIn("TOKEN=hunter2!", listed["environment"])
        self.assertIn("ada@example.com", [held["text"] for held in listed["strings"]])

        said = self.run_command("recrash", "redact", report, "--env", "--files", "--strings", "@example", "-o", "out.rcr").stdout
        self.assertRegex(said, r"taken out: \d+ variables of the environment, 1 files, [12] texts")
        self.assertNotIn("TOKEN", self.show("out.rcr", "--env"))
        self.assertNotIn("hunter2!", self.show("out.rcr", "--strings"))
        self.assertNotIn("@example", self.show("out.rcr", "--strings"))
        self.assertNotIn("held ", self.show("out.rcr", "--files"))
        self.run_command("recrash", "redact", report, "--strings", "private", "-o", "masked.rcr")
        self.assertIn("held ", self.show("masked.rcr", "--files"))
        self.assertNotIn("private", self.show("masked.rcr", "--strings"))
        self.assertNotIn(b"private", (self.path / "masked.rcr").read_bytes())
        self.assertRegex(self.show("out.rcr"), "lost: [12] texts: taken out by `recrash redact`")
        self.assertEqual((self.path / "out.rcr").stat().st_mode & 0o777, 0o600)
        self.assert_reproduced(self.reproduce(program, report="out.rcr"), "Book")
        self.run_command("recrash", "redact", report, "--env", "-o", "out.rcr", expect=2)


FRAMES = """
#include <cstdlib>
#include <cstring>
struct Account { int* balance; };
__attribute__((noinline)) void Book(Account* account, long amount) { *account->balance += amount; }
__attribute__((noinline)) void Settle(Account* account, const char* name) {
  volatile char inner[64];
  std::strcpy(const_cast<char*>(inner), "settle:");
  std::strcat(const_cast<char*>(inner), name);
  Book(account, inner[0]);
  asm volatile("" ::: "memory");
}
__attribute__((noinline)) void Day(Account* account, const char* name) {
  volatile char outer[64];
  std::strcpy(const_cast<char*>(outer), "day:");
  std::strcat(const_cast<char*>(outer), name);
  Settle(account, const_cast<const char*>(outer));
  asm volatile("" ::: "memory");
}
int main(int argc, char** argv) {
  static Account account;  // of no frame
  account.balance = argc > 5 ? &argc : nullptr;
  Day(&account, argv[1]);
}
"""


class Frames(Workspace):
    def stack(self, report):
        """Its texts. The agent's own memory may have what was in registers."""
        listed = json.loads(self.run_command("recrash", "show", report, "--strings", "--json", "-").stdout)["strings"]
        return [held["text"] for held in listed if held["address"] >= 0x7FF000000000]

    def test_are_taken_out_and_others_reproduce(self):
        program = self.compile_text(FRAMES, flags=("-O1", "-g"))
        report = self.crash(program, "mallory", died_of=SIGSEGV, env={"TOKEN": "hunter2!", "MORE": "x" * 9000})
        before = self.stack(report)
        for text in "settle:day:mallory", "day:mallory", "TOKEN=hunter2!":
            self.assertIn(text, before)

        self.run_command("recrash", "redact", report, "--frames", "1", "--program", program, "-o", "inner.rcr")
        left = self.stack("inner.rcr")
        self.assertNotIn("settle:day:mallory", left)
        self.assertIn("day:mallory", left)
        shown = self.run_command("recrash", "show", "inner.rcr", "--program", program).stdout
        for function in "Book", "Settle", "Day", "main":
            self.assertIn(function, shown)
        self.assertIn("lost: frames of the stack: taken out", shown)
        self.assert_reproduced(self.reproduce(program, report="inner.rcr"), "Book", "Day")

        self.run_command("recrash", "redact", report, "--frames", "2-", "--program", program, "-o", "outer.rcr")
        left = self.stack("outer.rcr")
        self.assertNotIn("day:mallory", left)
        self.assertNotIn("TOKEN=hunter2!", left)
        self.assertRegex(self.run_command("recrash", "show", "outer.rcr", "--program", program).stdout,
                         r"lost: \d+ bytes of memory in whole pages: taken out")
        self.assert_reproduced(self.reproduce(program, report="outer.rcr"), "Book")

    def test_of_tests_take_these_along(self):
        program = self.compile_text(FRAMES, flags=("-O1", "-g"))
        report = self.crash(program, "mallory", died_of=SIGSEGV)
        self.assert_reproduced(self.reproduce(program, report=report, build=True), "Book", "Settle", "Day")
        said = self.run_command("recrash", "redact", "tests", "--to-tests", "--frames", "2-").stdout
        self.assertRegex(said, "tests cannot be replayed any more")
        self.assertNotIn("day:mallory", self.stack("tests/crash_test.rcr"))
        self.assertIn("Frame0_Book", self.run_tests(expect=1).stdout)
        for wrong in "99", "x", "2-1", "":
            self.run_command("recrash", "redact", report, "--frames", wrong or ",", "--program", program, "-o", "no.rcr", expect=2)


# Of the pages of the job, Book touches the first one, and the kernel alone looks at the second one. main returns at once when
# it is called again.
NEEDING = """
#include <cstdlib>
#include <cstring>
#include <unistd.h>
struct Job { char* pages; int* balance; };
__attribute__((noinline)) void Book(Job* job) {
  int ends[2];
  if (pipe(ends) != 0 || write(ends[1], job->pages + 4096, 10) != 10) return;
  *job->balance += job->pages[0];
}
int main(int argc, char**) {
  static int calls = 0;
  if (calls++ != 0) return 0;
  auto* pages = static_cast<char*>(std::aligned_alloc(4096, 16384));
  for (int page = 0; page < 4; ++page) {
    std::strcpy(pages + 4096 * page, "page....of four");
    pages[4096 * page + 6] = static_cast<char>('0' + page);
  }
  Job job{pages, argc > 5 ? &argc : nullptr};
  Book(&job);
}
"""


class ToTests(Workspace):
    def make_tests(self):
        program = self.compile_text(NEEDING, flags=("-O1", "-g"))
        (self.path / "input.txt").write_text("private")
        report = self.crash(program, "input.txt", died_of=SIGSEGV, env={"TOKEN": "hunter2!", "RECRASH_OPTIONS": "files=embed"})
        self.assert_reproduced(self.reproduce(program, report=report, build=True), "Book")
        return program, self.path / "tests"

    def strings(self, report):
        return self.run_command("recrash", "show", report, "--strings").stdout

    def test_keeps_what_they_touch(self):
        program, tests = self.make_tests()
        report = tests / "crash_test.rcr"
        self.assertIn("page..3", self.strings(report))
        said = self.run_command("recrash", "redact", tests, "--to-tests", "--env").stdout
        self.assertRegex(said, r"\d+ tests reproduce as before; \d+ bytes of memory kept, \d+ withheld")
        self.assertIn("1 files", said)
        left = self.strings(report)
        for gone in "TOKEN=", "page..2", "page..3":
            self.assertNotIn(gone, left)
        for needed in "page..0", "page..1":
            self.assertIn(needed, left)
        self.assertNotIn(b"private", report.read_bytes())
        self.assertEqual(report.stat().st_mode & 0o777, 0o600)
        self.assertEqual(sorted(file.name for file in tests.iterdir() if "crash_test.rcr" in file.name), ["crash_test.rcr"])
        self.run_tests(expect=1)
        self.assertRegex(self.run_command("recrash", "show", report).stdout, "lost: .* that the tests do not touch")
        source = (tests / "crash_test.cc").read_text()
        self.assertIn("left as they are", self.run_command("recrash", "verify", tests).stderr)
        self.assertEqual((tests / "crash_test.cc").read_text(), source)

    def test_leaves_the_report_where_they_do_not_reproduce(self):
        program, tests = self.make_tests()
        fixed = self.compile_text(NEEDING.replace("*job->balance", "if (job->balance) *job->balance"), output="fixed",
                                  flags=("-O1", "-g"))
        before = (tests / "crash_test.rcr").read_bytes()
        result = self.run_command("recrash", "redact", tests / "crash_test.rcr", "--to-tests", "--program", fixed, expect=None)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("do not reproduce", result.stderr)
        self.assertEqual((tests / "crash_test.rcr").read_bytes(), before)
        self.run_command("recrash", "redact", tests, "--to-tests", "-o", "small.rcr")
        self.assertEqual((tests / "crash_test.rcr").read_bytes(), before)
        self.assertNotIn("page..3", self.strings("small.rcr"))
        self.run_command("recrash", "redact", "small.rcr", "--to-tests", expect=2)


if __name__ == "__main__":
    main()
