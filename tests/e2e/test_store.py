"""The store on a user's machine and at the desk: which reports are one crash, which stay, and whose names they have."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import harness

PROGRAM = """
#include <cstdlib>
#include <functional>
namespace shop {
template <typename T> __attribute__((noinline)) int Book(const T* order) { return order->count + 1; }
struct Order { int count; };
__attribute__((noinline)) int Sell(int times, const Order* order) {
  if (times > 0) return Sell(times - 1, order) + 1;
  std::function<int()> book = [order] { return Book(order); };
  return book() + 1;
}
}
int main(int count, char** words) {
  if (count > 2) abort();
  return shop::Sell(std::atoi(words[1]), nullptr) + 1;
}
"""


class Store(harness.Workspace):
    def build(self, *flags):
        """A stripped program as users have it; the unstripped one lies in `unstripped`."""
        folder = self.path / ("build" + "".join(flags))
        (folder / "unstripped").mkdir(parents=True)
        (self.path / "shop.cc").write_text("\n" * len(flags) + PROGRAM)
        self.run_command("recrash-clang++", "-g", *flags, "shop.cc", "-o", folder / "unstripped/shop")
        self.run_command("strip", "-o", folder / "shop", folder / "unstripped/shop")
        return folder / "shop"

    def crash(self, program, *words, died_of=signal.SIGSEGV, **options):
        return super().crash(program, *words, died_of=died_of, **options)

    def groups(self):
        return json.loads(self.run_command("recrash", "list", "--json", "-").stdout)["groups"]

    def reports_there(self):
        return sorted(self.reports.glob("*.rcr*"))

    def test_counts_all_and_keeps_the_newest_three(self):
        program = self.build("-O2")
        written = []
        for _ in range(5):
            written.append(self.crash(program, 0))
            time.sleep(1.1)  # in names and list, times are of seconds
        self.crash(program, 0, "abort", died_of=signal.SIGABRT)
        self.assertEqual(set(self.reports_there()) & set(written), set(written[2:]))
        aborted, crashed = self.groups()
        self.assertEqual((aborted["count"], crashed["count"], len(crashed["reports"])), (1, 5, 3))
        self.assertLessEqual(crashed["first"] + 4, crashed["last"])
        shown = self.run_command("recrash", "list").stdout
        self.assertRegex(shown, rf"\n +5  .*  {written[4].stem}  shop: SIGSEGV in shop\+0x")
        self.run_command("recrash", "prune", "--keep", "1")
        self.assertEqual([group["count"] for group in self.groups()], [1, 5])
        self.assertEqual(len(self.reports_there()), 2)

    def test_builds_are_one_crash_once_the_desk_has_seen_them(self):
        programs = [self.build("-O0"), self.build("-O2", "-fno-omit-frame-pointer"), self.build("-O3", "-w", "-w")]
        for program in programs:
            self.crash(program, 0)
            self.crash(program, 7)  # deeper in the recursion
            self.crash(program, 0, "abort", died_of=signal.SIGABRT)
        before = len(self.groups())
        self.assertGreaterEqual(before, 6)
        for report in self.reports_there():
            self.run_command("recrash", "show", report.stem)
        self.assertEqual(len(self.groups()), before, "without debug information nobody knows")
        for report in self.reports_there():
            self.run_command("recrash", "show", report.stem, "--search-path", self.program_of(report).parent / "unstripped")
        both = [(3, "SIGABRT in main at shop.cc"), (6, "SIGSEGV in Book at shop.cc")]
        self.assertEqual(sorted((group["count"], group["crash"]) for group in self.groups()), both)
        # The next crash of a build that was seen needs no look.
        self.crash(programs[1], 0)
        self.assertEqual(sorted(group["count"] for group in self.groups()), [3, 7])
        # The program and its symbols are gone; what was found stays.
        for program in programs:
            shutil.rmtree(program.parent)
        self.assertIn("shop: SIGSEGV in Book at shop.cc", self.run_command("recrash", "list").stdout)

    def program_of(self, report):
        return pathlib.Path(json.loads(self.run_command("recrash", "show", report, "--json", "-").stdout)["program"])

    def test_a_raw_report_is_the_same_crash(self):
        program = self.build("-O2")
        raw = self.run_command(program, 0, expect=-signal.SIGSEGV, env={"RECRASH_COLLECTOR": "/nonexistent"}).stderr
        self.assertIn("raw report in", raw)
        self.crash(program, 0)
        (group,) = self.groups()
        self.assertEqual(group["count"], 2)

    def test_recrash_run_sees_the_source_at_once(self):
        program = self.build("-O2").parent / "unstripped/shop"
        self.run_command("recrash", "run", "--", program, 0, expect=128 + signal.SIGSEGV)
        self.assertEqual([group["crash"] for group in self.groups()], ["SIGSEGV in Book at shop.cc"])

    def test_a_writer_that_is_killed_leaves_nothing_for_long(self):
        program = self.build("-O2")
        part = self.reports / "shop-20261119-091024-1.rcr.part"
        self.reports.mkdir(mode=0o700)
        part.write_bytes(b"half a report")
        self.crash(program, 0)
        self.assertFalse(part.exists())


class Containers(harness.Workspace):
    """Each has a process 1, and they share the report folder."""

    COUNT = 8

    def crash_all(self, **environment):
        program = self.compile_text(PROGRAM, "shop")
        inside = ["unshare", "--fork", "--pid", "--mount-proc", "--kill-child"]
        if subprocess.run([*inside, "true"], capture_output=True).returncode != 0:
            self.skipTest("no right to make containers")
        gate = self.path / "gate"
        os.mkfifo(gate)
        script = f"read word < {gate}; exec {program} 0"
        waiting = [subprocess.Popen([*inside, "sh", "-c", script], env={**self.environment, **environment}, cwd=self.path,
                                    stderr=subprocess.PIPE, text=True) for _ in range(self.COUNT)]
        time.sleep(1)
        with open(gate, "w") as opened:
            opened.write("\n" * self.COUNT * 3)
            opened.flush()
            said = [process.communicate(timeout=60)[1] for process in waiting]
        return [re.search(r"report in (\S+)", text)[1] for text in said]

    def check(self, suffix, **environment):
        told = self.crash_all(RECRASH_OPTIONS="keep=0", **environment)
        self.assertEqual(len(set(told)), self.COUNT, told)
        self.assertEqual(sorted(told), sorted(str(path) for path in self.reports.glob(f"*{suffix}")))
        for path in told:
            self.assertRegex(path, rf"/shop-\d+-\d+-1(-[0-9a-f]+)?{suffix}$")
        return told

    def test_each_report_has_a_name_of_its_own(self):
        self.check(".rcr")

    def test_so_has_each_raw_report(self):
        self.check(".rcraw", RECRASH_COLLECTOR="/nonexistent")


if __name__ == "__main__":
    harness.main()
