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


if __name__ == "__main__":
    main()
