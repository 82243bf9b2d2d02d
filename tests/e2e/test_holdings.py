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
        self.assertEqual(sorted(file.suffix for file in self.reports.glob("[!.]*")), [".rcr"])
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
        # What a replay comes to is computed anew, here from the program's own text.
        self.assert_reproduced(self.reproduce(program, "--derive", "none", report=report), "Book", "Settle")
        files = [*self.reports.iterdir(), *(file for file in (self.path / "tests").glob("*.*") if file.is_file())]
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


# Each value is in memory that only its owner knows, and none of them is there any more when its owner is gone.
VARIABLES = """
#include <recrash/recrash.h>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
struct Pin { char digits[16]; };
__attribute__((noinline)) void Coded(const char* code, char* text) {
  for (; *code; ++code, ++text) *text = static_cast<char>(*code + 1);
  *text = 0;
}
__attribute__((noinline)) void Store(int* cell) { *cell = 1; }
__attribute__((noinline)) void Throw(RECRASH_MARKED std::string text, const char* code) {
  text += code;
  if (code[0]) throw std::runtime_error("no");
}
__attribute__((noinline)) void Login(RECRASH_MARKED std::string password, RECRASH_MARKED const std::string& token,
                                     RECRASH_MARKED const char* text, RECRASH_MARKED Pin* pin, const char* code, int* cell) {
  RECRASH_MARKED char local[32];
  Coded(code, local);
  for (int i = 0; i < 40; ++i) password += local[8];
  password += local;
  try { Throw("open", "abc"); } catch (const std::exception&) {}
  Store(cell);
  asm volatile("" : : "r"(local), "r"(&password), "r"(&token), "r"(text), "r"(pin) : "memory");
}
int main(int argc, char** argv) {
  static char* text = static_cast<char*>(std::malloc(64));
  static auto* pin = new Pin;
  static auto* token = new std::string;
  char room[64];
  Coded(argv[1], room), std::strcpy(text, room);
  Coded(argv[2], room), *token = std::string(100, '-') + room;
  Coded(argv[3], room), std::memcpy(pin->digits, room, 16);
  std::memset(room, 0, sizeof room);
  Login("open", *token, text, pin, argv[4], argc > 9 ? &argc : nullptr);
}
"""


class MarkedVariables(Workspace):
    SECRETS = "first_horse_text", "second_horse_token", "third_horse_pins", "fourth_horse_local"

    def check(self, *flags, env=None, suffixes=(".dmp", ".rcr")):
        program = self.compile_text(VARIABLES, flags=("-g", *flags))
        coded = ["".join(chr(ord(letter) - 1) for letter in secret) for secret in self.SECRETS]
        self.run_command(program, *coded, expect=-SIGSEGV, env=env)
        files = list(self.reports.glob("[!.]*"))
        self.assertEqual(sorted(file.suffix for file in files), list(suffixes))
        held = "".join(self.run_command("recrash", "show", file, "--strings").stdout for file in files if file.suffix != ".dmp")
        held += "".join(file.read_bytes().decode("latin1") for file in files)
        for secret in self.SECRETS:
            for at in range(len(secret) - 7):
                self.assertNotIn(secret[at:at + 8], held)
        self.assertIn("*" * 16, held)
        report = next(file for file in files if file.suffix != ".dmp")
        self.assertRegex(self.run_command("recrash", "show", report).stdout if report.suffix == ".rcr" else "5 values",
                         r"\b5 values")
        return program

    def test_are_in_no_file_with_optimisation(self):
        self.assert_reproduced(self.reproduce(self.check("-O2")), "Store")

    def test_are_in_no_file_without_optimisation(self):
        self.assert_reproduced(self.reproduce(self.check("-O0")), "Store")

    def test_are_in_no_raw_report(self):
        self.check("-O2", env={"RECRASH_COLLECTOR": "/nonexistent"}, suffixes=(".rcraw",))

    def test_that_cannot_be_marked_are_errors(self):
        for code, words in (("struct A { RECRASH_MARKED char pin[16]; }; char F(A* a) { return a->pin[0]; }", "a member"),
                            ("#include <vector>\nint F(RECRASH_MARKED std::vector<int> v) { return v[0]; }", "this type"),
                            ("int F(RECRASH_MARKED void* v) { return v != nullptr; }", "this type")):
            (self.path / "wrong.cc").write_text(f"#include <recrash/recrash.h>\n{code}\n")
            said = self.run_command("recrash-clang++", "-g", "-c", "wrong.cc", expect=1).stderr
            self.assertIn(f"{words}", said)
        self.assertIn("needs debug information", self.run_command("recrash-clang++", "-c", "wrong.cc", expect=1).stderr)


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
        self.assertRegex(said, r"taken out: \d+ variables of the environment, 1 files, 0 logs, 0 notes, [12] texts")
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
        """Its texts. The agent's own memory, which lies below with the libraries, may have what was in registers."""
        listed = json.loads(self.run_command("recrash", "show", report, "--strings", "--json", "-").stdout)["strings"]
        return [held["text"] for held in listed if held["address"] >= 0x7FFC00000000]

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
