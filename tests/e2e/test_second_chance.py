"""Second chance as a user meets it: a crash teaches the profile, the next run watches, a new build finds its functions."""

import json
import signal
import subprocess
import sys

from harness import PREFIX, Workspace, main, short_name

# Says of each function whether its entry leads elsewhere, then crashes when told.
PROGRAM = r"""
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <recrash/recrash.h>

EXTRA
__attribute__((noinline)) static int Inner(const int* values, int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += values[i];
  return sum;
}

__attribute__((always_inline)) static inline int Inlined(const int* values, int n) { return Inner(values, n) * 2; }

__attribute__((noinline)) int Middle(const int* values, int n, char* text) {
  std::snprintf(text, 20, "%d", n);
  const int got = Inlined(values, n);
  return got + text[0];
}

__attribute__((noinline)) int Outer(int n, char* text) {
  const int values[] = {1, 2, 3, 4};
  const int got = Middle(n < 0 ? nullptr : values, n < 0 ? -n : n, text);
  std::printf("%d\n", got);
  return got;
}

__attribute__((noinline)) int Elsewhere(int n, char* text) { return std::snprintf(text, 20, "%d", n + 1); }

template <typename F>
void Say(const char* name, F function) {
  unsigned char first = 0;
  std::memcpy(&first, reinterpret_cast<const void*>(function), 1);
  std::printf("%s %s\n", name, first == 0xeb ? "watched" : "as compiled");
  std::fflush(stdout);
}

int main(int argc, char** argv) {
  char text[32] = "";
  if (argc > 2) RECRASH_PROFILES(std::strcmp(argv[2], "none") ? argv[2] : nullptr);
  Say("Inner", &Inner);
  Say("Middle", &Middle);
  Say("Outer", &Outer);
  Say("Elsewhere", &Elsewhere);
  Elsewhere(argc, text);
  Outer(std::atoi(argv[1]), text);
}
"""
FLAGS = ("-O2", "-g", "-recrash-mode=references+second-chance")
WATCHED = {"Inner": "watched", "Middle": "watched", "Outer": "watched", "Elsewhere": "as compiled"}
AS_COMPILED = dict.fromkeys(WATCHED, "as compiled")


# Runs a command without userfaultfd, as in a container with Docker's default profile.
WITHOUT_USERFAULTFD = (sys.executable, "-c", r"""
import ctypes, os, struct, sys
rules = [(0x20, 0, 0, 0), (0x15, 0, 1, 323), (0x06, 0, 0, 0x50001), (0x06, 0, 0, 0x7fff0000)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *rule) for rule in rules))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(rules), ctypes.addressof(code)))
prctl = ctypes.CDLL(None).prctl
if prctl(38, 1, 0, 0, 0) != 0 or prctl(22, 2, program, 0, 0) != 0:
    sys.exit("no filter")
os.execv(sys.argv[1], sys.argv[1:])
""")


class SecondChance(Workspace):
    def setUp(self):
        super().setUp()
        self.program = self.build("program")
        self.profile = self.path / "program.recrash-profile"

    def build(self, output, extra="", flags=FLAGS):
        return self.compile_text(PROGRAM.replace("EXTRA", extra), output=output, flags=flags)

    def state(self, *arguments, program=None, env=None):
        """What a run that does not crash says of the functions."""
        result = self.run_command(program or self.program, "4", *arguments, env=env)
        self.errors = result.stderr
        lines = dict(line.split(" ", 1) for line in result.stdout.splitlines() if " " in line)
        self.assertTrue(result.stdout.endswith(f"{20 + ord('4')}\n"), result.stdout)
        return lines

    def first_crash(self):
        return self.crash(self.program, "-3", died_of=signal.SIGSEGV)

    def names(self, profile=None):
        text = (profile or self.profile).read_text()
        return {line.split()[2] for line in text.splitlines() if not line.startswith("#")}

    # The same functions, and what the second run knows of them: entered once, with one snapshot, in microseconds.
    def assert_same_but_for_counters(self, learnt):
        text = self.profile.read_text()
        self.assertRegex(text, r"_ZL5InnerPKii 1 \d+ 1 (\d+|-)\n")
        self.assertEqual([line.split()[:3] for line in text.splitlines()[2:]],
                         [line.split()[:3] for line in learnt.splitlines()[2:]])

    def test_a_crash_teaches_what_the_next_run_watches(self):
        self.assertEqual(self.state(), AS_COMPILED)
        self.first_crash()
        self.assertLessEqual({"_ZL5InnerPKii", "_Z6MiddlePKiiPc", "_Z5OuteriPc", "main"}, self.names())
        self.assertNotIn("_Z9ElsewhereiPc", self.names())
        self.assertEqual(self.state(), WATCHED)
        self.assertEqual(self.errors, "")
        # Watched, it crashes as before, and there is nothing new to learn.
        learnt = self.profile.read_text()
        report = self.first_crash()
        self.assert_same_but_for_counters(learnt)
        result = self.reproduce(self.program, report=report)
        self.assert_reproduced(result, "Inner", "Middle", "Outer")

    def test_a_rerun_finds_entries_as_compiled(self):
        self.first_crash()
        learnt = self.profile.read_text()
        report = self.first_crash()
        result = self.reproduce(self.program, "--rerun", report=report)
        self.assert_reproduced(result, "Inner", "Middle", "Outer", "main")
        self.assert_same_but_for_counters(learnt)

    def test_a_stripped_program_learns_by_offset(self):
        subprocess.run(["eu-strip", "-o", self.path / "stripped", self.program], check=True)
        stripped = self.path / "stripped"
        self.crash(stripped, "-3", died_of=signal.SIGSEGV)
        self.assertEqual(self.names(self.path / "stripped.recrash-profile"), {"-"})
        self.assertEqual(self.state(program=stripped), WATCHED)

    def test_a_new_build_finds_its_functions_by_name(self):
        self.first_crash()
        moved = self.build("program", extra="__attribute__((noinline, used)) int First(int* p) { return *p + 1; }")
        self.assertEqual(self.state(program=moved), WATCHED)
        self.assertEqual(self.errors, "")
        # Without symbols there is no way from name to entry, and the program says so.
        subprocess.run(["eu-strip", moved], check=True)
        self.assertEqual(self.state(program=moved), AS_COMPILED)
        self.assertIn("of another build, and this one has no symbol table to find them by name", self.errors)
        self.assertEqual(self.state(program=moved, env={"RECRASH_OPTIONS": "quiet"}), AS_COMPILED)
        self.assertEqual(self.errors, "")

    def test_the_profile_lies_where_it_is_told(self):
        self.first_crash()
        folder = self.path / "profiles"
        folder.mkdir()
        self.profile.rename(folder / "program.recrash-profile")
        self.assertEqual(self.state(), AS_COMPILED)
        self.assertEqual(self.state(env={"RECRASH_PROFILE": str(folder)}), WATCHED)
        self.assertEqual(self.state(env={"RECRASH_PROFILE": str(folder / "program.recrash-profile")}), WATCHED)
        self.assertEqual(self.state(env={"RECRASH_PROFILE": ""}), AS_COMPILED)
        # A folder that the program itself names, from then on; and nothing watched any more.
        self.assertEqual(self.state(str(folder)), WATCHED)
        self.assertEqual(self.state("none", env={"RECRASH_PROFILE": str(folder)}), AS_COMPILED)
        # A crash updates the one that was read, and no other.
        (folder / "program.recrash-profile").unlink()
        self.crash(self.program, "-3", str(folder), died_of=signal.SIGSEGV)
        self.assertIn("_Z5OuteriPc", self.names(folder / "program.recrash-profile"))
        self.assertFalse(self.profile.exists())

    def test_what_is_there_is_not_written_over(self):
        self.profile.write_text("my shopping list: bread\nand butter\n")
        report = self.first_crash()
        self.assertTrue(report.exists())
        self.assertEqual(self.profile.read_text(), "my shopping list: bread\nand butter\n")
        self.profile.unlink()
        self.profile.mkdir()
        self.assertEqual(self.state(), AS_COMPILED)
        self.first_crash()

    def test_other_modes_learn_nothing(self):
        for mode in ("references", "full"):
            program = self.build(mode, flags=("-O2", "-g", f"-recrash-mode={mode}"))
            self.crash(program, "-3", died_of=signal.SIGSEGV)
            self.assertEqual(list(self.path.glob("*.recrash-profile")), [])

    def test_without_records_too(self):
        program = self.build("program", flags=("-O2", "-g", "-recrash-mode=second-chance"))
        self.crash(program, "-3", died_of=signal.SIGSEGV)
        self.assertEqual(self.state(program=program), WATCHED)

    def test_the_command_adds_merges_and_shows(self):
        report = self.first_crash()
        self.profile.unlink()
        self.run_command("recrash", "profile", "add", report, "-o", "field.recrash-profile")
        added = self.path / "field.recrash-profile"
        self.assertEqual(self.names(added), {"_ZL5InnerPKii", "_Z6MiddlePKiiPc", "_Z5OuteriPc", "main"})
        self.assertEqual(self.state(env={"RECRASH_PROFILE": str(added)}), WATCHED)
        other = self.path / "other.recrash-profile"
        other.write_text("- - _Z9ElsewhereiPc 12 3400\n")
        self.run_command("recrash", "profile", "merge", added, other, "-o", "both.recrash-profile")
        shown = self.run_command("recrash", "profile", "show", "both.recrash-profile").stdout
        self.assertRegex(shown, r"12 +3\.4 +Elsewhere\(int, char\*\)\n")
        self.assertRegex(shown, r"(?m)^ +[0-9a-f]{12} +Outer\(int, char\*\)$")
        self.assertEqual(self.state(env={"RECRASH_PROFILE": str(self.path / "both.recrash-profile")}),
                         dict.fromkeys(WATCHED, "watched"))
        for words, code in ((("show", "none"), 4), (("show", self.program), 3), (("merge", added), 2), (("add", "none"), 4)):
            self.run_command("recrash", "profile", *words, expect=code)

    def test_a_plain_build_is_told_what_it_needs(self):
        program = self.build("plain", flags=("-O2", "-g", "-fno-recrash", f"-I{PREFIX}/include"))
        self.run_command("recrash", "run", "-o", self.reports, "--", program, "-3", expect=128 + signal.SIGSEGV)
        report = next(self.reports.glob("*.rcr"))
        result = self.run_command("recrash", "profile", "add", report, expect=4)
        self.assertIn("-recrash-mode=references+second-chance", result.stderr)


# Fails as the file `plan` says, which it shortens by one line.
PLANNED = r"""
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

__attribute__((noinline)) int Fail(const std::string& how) {
  if (how == "abort") std::abort();
  if (how == "deeper") return Fail("null") + 1;
  return how == "null" ? *static_cast<volatile int*>(nullptr) : 0;
}

__attribute__((noinline)) int Other(const std::string& how) {
  volatile int* nowhere = nullptr;
  return how.empty() ? 0 : *nowhere;
}

int main(int argc, char**) {
  std::ifstream in("plan");
  std::string how, rest;
  std::getline(in, how);
  rest.assign(std::istreambuf_iterator<char>(in), {});
  std::ofstream("plan") << rest;
  unsigned char first = *reinterpret_cast<const unsigned char*>(&Fail);
  std::printf("%s %s\n", how.c_str(), first == 0xeb ? "watched" : "as compiled");
  std::fflush(stdout);
  return argc > 1 || how == "other" ? Other(how) : Fail(how);
}
"""


class RunTwice(Workspace):
    def setUp(self):
        super().setUp()
        self.program = self.compile_text(PLANNED, flags=FLAGS)
        self.environment["RECRASH_PROFILE"] = ""  # none but the crash's own

    def run_planned(self, *plan, options=(), expect=128 + signal.SIGSEGV, prefix=()):
        (self.path / "plan").write_text("".join(f"{line}\n" for line in plan))
        result = self.run_command(*prefix, "recrash", "run", *options, "--", self.program, expect=expect)
        self.assertEqual(list(self.path.rglob("*.recrash-profile")), [])
        return result

    def test_it_crashes_the_same_way_with_its_functions_watched(self):
        result = self.run_planned("null", "null")
        self.assertEqual(result.stdout, "null as compiled\nnull watched\n")
        self.assertIn("running the program again, with 2 functions of its stack watched", result.stderr)
        self.assertIn("crashed the same way again: SIGSEGV in Fail", result.stderr)
        reports = list(self.reports.glob("*.rcr"))
        self.assertEqual(len(reports), 2)
        self.assertEqual(result.stderr.count("next: recrash reproduce"), 2)

    def test_once_is_once(self):
        result = self.run_planned("null", "null", options=("--once",))
        self.assertEqual(result.stdout, "null as compiled\n")
        self.assertNotIn("again", result.stderr)

    def test_it_says_what_was_different(self):
        for second, words in (("abort", "crashed in another way: SIGSEGV in Fail, and then SIGABRT"),
                              ("other", "crashed in another way: SIGSEGV in Fail, and then SIGSEGV in Other"),
                              ("deeper", "SIGSEGV in Fail both times, but with other functions on the stack"),
                              ("nothing", "did not crash the second time")):
            self.assertIn(words, self.run_planned("null", second).stderr)

    def test_what_was_piped_in_is_gone(self):
        (self.path / "plan").write_text("null\nnull\n")
        result = self.run_command("sh", "-c", f"echo hello | recrash run -- {self.program}", expect=128 + signal.SIGSEGV)
        self.assertEqual(result.stdout, "null as compiled\n")
        self.assertIn("what it read from the pipe is gone", result.stderr)
        # A file is read from where the first run began.
        (self.path / "input").write_text("plan")
        (self.path / "plan").write_text("null\nnull\n")
        result = self.run_command("sh", "-c", f"recrash run -- {self.program} < input", expect=128 + signal.SIGSEGV)
        self.assertIn("crashed the same way again", result.stderr)

    def test_other_builds_run_once(self):
        self.program = self.compile_text(PLANNED, flags=("-O2", "-g", "-recrash-mode=references"))
        result = self.run_planned("null", "null")
        self.assertEqual(result.stdout, "null as compiled\n")
        self.assertNotIn("again", result.stderr)


class EntryStates(Workspace):
    """samples/second_chance: what the second crash knows of its entries."""

    ORDERS = ("300", "450", "250")

    # A replay of main would come to the entry of Settle too.
    def verdicts(self, mode, crashes=1, build=False, prefix=(), options="snapshot_cpu=100,snapshot_pause=1000"):
        program = self.compile_sample("second_chance", ("-O2", "-g", f"-recrash-mode={mode}"))
        for _ in range(crashes):
            # Short, and all of it may be watched.
            report = self.crash(program, *self.ORDERS, died_of=signal.SIGSEGV, prefix=prefix,
                                env={"RECRASH_OPTIONS": options})
        self.shown = self.run_command("recrash", "show", report, "--program", program).stdout
        result = self.reproduce(program, "--derive=none", report=report, build=build)
        return {short_name(frame["function"]): (frame["verdict"], frame["entry_state"]) for frame in result["frames"]}

    def test_the_crash_alone_has_an_empty_batch(self):
        self.assertEqual(self.verdicts("full")["Settle"][0], "different failure")
        verdicts = self.verdicts("references+second-chance")
        self.assertEqual(verdicts["Settle"][0], "returned")
        self.assertEqual(verdicts["Book"][0], "reproduced")
        self.assertNotIn("entry state", self.shown)

    def test_the_second_crash_has_the_memory_of_its_entries(self):
        verdicts = self.verdicts("references+second-chance", crashes=2)
        self.assertEqual(verdicts["Settle"], ("reproduced", True))
        self.assertEqual(verdicts["main"][0], "reproduced")  # it makes the batch anew
        self.assertEqual(verdicts["Book"], ("reproduced", True))
        self.assertRegex(self.shown, r"Settle\(.*entry state\]")
        self.assertRegex(self.shown, r"entry states of 3 frames; \d+ snapshots taken")

    def copied(self, depth, build=False):
        return self.verdicts("references+second-chance", crashes=2, build=build, prefix=WITHOUT_USERFAULTFD,
                             options=f"snapshot_cpu=100,snapshot_pause=1000,snapshot_depth={depth}")

    def test_without_write_tracking_it_has_copies(self):
        self.assertEqual(self.copied(3, build=True)["Settle"], ("reproduced", True))
        self.assertRegex(self.shown, r"Settle\(.*entry state \(copies to depth 3\)\]")
        self.assertIn("lost: entry states are copies of what arguments reached, to depth 3: the kernel, or a filter of "
                      "system calls, refuses userfaultfd (Operation not permitted)", self.shown)
        text = " ".join((self.path / "tests" / "crash_test.cc").read_text().replace("//", " ").split())
        self.assertIn("that of the crash, with what its arguments reached to depth 3 as it was then", text)
        self.assertNotIn("[       OK ]", self.run_tests(expect=1).stdout)
        self.fix_sample("second_chance", ("-O2", "-g", "-recrash-mode=references+second-chance"))
        self.assertRegex(self.run_tests(expect=None).stdout, r"\[       OK \].*Settle")

    def test_copies_that_do_not_reach_far_enough_do_not_reproduce(self):
        # The batch and its first order are copied; those behind it were deleted.
        self.assertNotEqual(self.copied(1)["Settle"][0], "reproduced")
        self.assertRegex(self.shown, r"Settle\(.*entry state \(copies to depth 1\)\]")
        self.assertNotEqual(self.copied(0)["Settle"][0], "reproduced")
        self.assertIn("lost: no entry states: the kernel, or a filter of system calls, refuses userfaultfd", self.shown)

    def test_its_tests_pass_after_the_fix(self):
        self.verdicts("references+second-chance", crashes=2, build=True)
        self.assertNotIn("[       OK ]", self.run_tests(expect=1).stdout)
        self.fix_sample("second_chance", ("-O2", "-g", "-recrash-mode=references+second-chance"))
        green = self.run_tests(expect=None).stdout
        self.assertRegex(green, r"\[       OK \].*Settle")


# Load reads `a`, Fill makes a list and reads `b`, Sum takes the list apart; then Use fails.
CHAIN = r"""
#include <fcntl.h>
#include <unistd.h>
#include <cstdio>
#include <cstdlib>

struct Item { Item* next; long weight; };
struct Work { Item* first; int in; char text[8]; };
static long rounds;
static int process;

__attribute__((noinline)) long Use(const long* limit, long sum) { return *limit + sum; }

__attribute__((noinline)) long Sum(Work* work, const long* limit) {
  long sum = 0;
  while (Item* item = work->first) {
    work->first = item->next;
    sum += item->weight;
    std::free(item);
  }
  return Use(sum == 10 && ++rounds == 2 && work->text[0] == 'b' ? nullptr : limit, sum) + 1;
}

__attribute__((noinline)) long Fill(Work* work, const long* limit) {
  if (rounds++ > 0) return 0;
  for (long weight = 1; weight < 5; ++weight) {
    auto* item = static_cast<Item*>(std::malloc(5000));
    *item = {work->first, weight};
    work->first = item;
  }
  if (read(work->in, work->text, 1) != 1) return 0;
  return Sum(work, limit) + 1;
}

__attribute__((noinline)) long Load(Work* work, const long* limit) {
  if (read(work->in, work->text, 1) != 1 || work->text[0] != 'a') return 0;
  if (process != 0 && process != getpid()) return Use(nullptr, 10) + 2;
  return Fill(work, limit) + 1;
}

int main(int count, char** arguments) {
  if (count > 2) process = getpid();
  Work work{nullptr, open(arguments[1], O_RDONLY), ""};
  const long limit = 3;
  std::printf("%ld\n", Load(&work, &limit));
}
"""


class Derivation(Workspace):
    """Only the outermost function is watched: the others start from where its replay comes to them."""

    def setUp(self):
        super().setUp()
        self.program = self.compile_text(CHAIN, flags=FLAGS)
        (self.path / "input").write_text("abc")

    def crash_with_load_watched(self, *arguments):
        self.crash(self.program, "input", *arguments, died_of=signal.SIGSEGV)
        profile = self.path / "program.recrash-profile"
        lines = [line for line in profile.read_text().splitlines() if line.startswith("#") or " _Z4LoadP" in line]
        only = self.path / "only"
        only.write_text("\n".join(lines) + "\n")
        report = self.crash(self.program, "input", *arguments, died_of=signal.SIGSEGV,
                            env={"RECRASH_PROFILE": str(only),
                                 "RECRASH_OPTIONS": "snapshot_cpu=100,snapshot_pause=1000,files=embed"})
        (self.path / "input").unlink()
        return report

    def verdicts(self, report, *options, **more):
        result = self.reproduce(self.program, *options, report=report, **more)
        return {short_name(frame["function"]): (frame["verdict"], frame["entry_state_source"], frame["derived_from"])
                for frame in result["frames"] if frame["own"]}

    def test_inner_frames_start_where_the_replay_comes_to_them(self):
        report = self.crash_with_load_watched()
        without = self.verdicts(report, "--derive", "none")
        self.assertEqual(without["Load"], ("reproduced", "recorded", None))
        self.assertEqual(without["Fill"], ("returned", None, None))
        self.assertEqual(without["Sum"], ("returned", None, None))
        derived = self.verdicts(report, build=True)
        self.assertEqual(derived["Load"], ("reproduced", "recorded", None))
        self.assertEqual(derived["Fill"], ("reproduced", "derived", 3))
        self.assertEqual(derived["Sum"], ("reproduced", "derived", 3))
        self.assertEqual(derived["Use"], ("reproduced", "derived", 3))
        self.assertIn("reproduced (entry state, derived from frame 3)", self.output.stdout)
        self.assertRegex((self.path / "tests" / "crash_test.cc").read_text(), r"a\s(// )?replay of frame 3 came to\.")
        # The states are in the report beside the tests: these are red, verified again the same, and green after the fix.
        self.run_command("recrash", "verify", "tests", "--json", "again.json")
        again = json.loads((self.path / "again.json").read_text())
        self.assertEqual([frame["derived_from"] for frame in again["frames"][:4]], [3, 3, 3, None])
        self.compile_text(CHAIN.replace("return *limit + sum", "return limit ? *limit + sum : 0"), flags=FLAGS)
        green = self.run_tests().stdout
        for function in ("Load", "Fill", "Sum"):
            self.assertRegex(green, rf"\[       OK \].*_{function}")

    def test_all_is_all(self):
        report = self.crash_with_load_watched()
        verdicts = self.verdicts(report, "--derive", "all")
        self.assertEqual(verdicts["Use"], ("reproduced", "derived", 3))
        self.assertEqual(verdicts["Sum"], ("reproduced", "derived", 3))

    def test_a_replay_that_goes_another_way_is_told(self):
        report = self.crash_with_load_watched("once")
        verdicts = self.verdicts(report)
        self.assertEqual(verdicts["Load"][0], "reproduced")
        self.assertEqual(verdicts["Sum"], ("returned", None, None))
        clause = "no entry state: frame 3 replayed from its entry did not come to it"
        self.assertRegex(self.output.stdout, f"Sum .* returned: {clause}")
        notes = [frame["note"] for frame in json.loads((self.path / "result.json").read_text())["frames"]]
        self.assertEqual(notes[1:3], [clause, clause])


if __name__ == "__main__":
    main()
