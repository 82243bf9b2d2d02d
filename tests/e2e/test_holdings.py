#!/usr/bin/env python3
"""What a report holds, and what it does not."""

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


if __name__ == "__main__":
    main()
