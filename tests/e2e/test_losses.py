#!/usr/bin/env python3
"""Whatever cannot be kept, the report says so, and has all the rest.

The client and the collector are those with fail points (agent/base/signal_safe/left_out.h). For each fail point a real program dies
with it; the sentence stands in the report, `recrash show` prints it, and what else the report holds is as without it.
"""

import dataclasses
import json
import os
import pathlib
import re
import unittest

from harness import PREFIX, SOURCE, Workspace, main

BUILD = pathlib.Path(os.environ.get("RECRASH_BUILD", SOURCE / "build/dev"))
PROGRAM = BUILD / "agent/client/record/agent_losing"
COLLECTOR = BUILD / "agent/collector/recrash-collector-testing"
SIGSEGV, SIGABRT = 11, 6


@dataclasses.dataclass(frozen=True)
class Case:
    point: str  # several, with commas between: the last one is meant
    loss: str  # what the sentence has
    lacks: str = ""  # what of the report is otherwise than without the fail point (`holdings`)
    how: str = "null"  # the program's way to fail
    options: str = ""
    variables: tuple = ()


# Of a report by the collector: what the collector gives up.
COLLECTED = (
    Case("abort_message", "the C library's last message: it cannot be read", "message", how="abort"),
    Case("exe", "what /proc did not tell of the process: its program", "frames names program"),
    Case("cwd", "what /proc did not tell of the process: its working directory"),
    Case("cmdline", "what /proc did not tell of the process: its command line", "inputs"),
    Case("smaps", "which memory the program excludes from core dumps"),
    Case("maps", "what /proc did not tell of the process: its mappings", "all"),
    Case("stack_limit", "the limit of the program's stack"),
    Case("module", "build-id and extent of .*: its file could not be read"),
    Case("throw", "an exception that was thrown: its record cannot be read", "exception", how="throw"),
    Case("thrown_stack", "the stack at the throw of the exception", how="throw"),
    Case("memory_left", "no entry states: too little memory was left to read them", "snapshots"),
    Case("pagemap", "a mapping of .* was left out: its pages cannot be listed", "frames memory"),
    Case("page", "a page of memory could not be read \\([0-9]+ times\\)", "frames"),
    Case("task", "all threads but the failing one: /proc does not list them", "names threads"),
    Case("seize", "a thread that was not stopped, and its registers: ptrace was refused", "names threads"),
    Case("stop", "a thread that was not stopped, and its registers: it waits in the kernel", "names threads"),
    Case("registers", "registers of a thread: ptrace does not give them \\(2 times\\)", "names"),
    Case("floating_registers", "floating-point registers of a thread: ptrace does not give them \\(2 times\\)"),
    Case("thread_name", "the name of a thread: it has none, or /proc does not tell \\(2 times\\)", "names"),
    Case("descriptors", "open files: /proc does not list them", "files inputs"),
    Case("descriptor_name", "an open file: /proc does not tell its name \\([0-9]+ times\\)", "files inputs"),
    Case("descriptor_position", "position and flags of an open file: /proc does not tell \\([0-9]+ times\\)"),
    Case("additions", "notes and files that the program adds: their table is damaged", "notes logs inputs"),
    Case("log_file", "log .*/log: it is not there, no regular file, or cannot be read", "logs"),
    Case("attached", "attached file .*/attached: it is not there, or no regular file", "inputs"),
    Case("input", "attached file .*/attached: it could not be read", "inputs"),
    Case("input_folder", "input files with relative names: the working directory cannot be opened", "inputs"),
    Case("input_words", "input files that the command line names behind its first 1000 words"),
    Case("input_hash", "checksums of 2 input files: more than 64 MiB would have to be read", "inputs"),
    Case("open_input", "an open input file: .* cannot be looked at \\(2 times\\)|an open input file: .*/other cannot", "inputs"),
    Case("minidump", "no minidump: it could not be made", "minidump"),
    Case("minidump_file", "no minidump: .*", "minidump"),
    Case("signature", "no signature", "signature"),
    Case("disk", "all but the innermost frames", "memory minidump snapshots logs inputs"),
    Case("log", "no entry states: their log is damaged", "files snapshots"),
    Case("log_tables", "no entry states: the log of snapshots cannot be read", "snapshots"),
    Case("unsure", "no entry states: frames may have ended while another thread took a snapshot", "snapshots"),
    Case("unseen", "an entry state: its function was entered again without being seen", "snapshots"),
    Case("state_lists", "an entry state: the log of snapshots cannot be read there \\(3 times\\)", "snapshots"),
    Case("state_page", "[0-9]+ pages of entry states: the log of snapshots cannot be read there"),
    Case("state_files", "open files of entry states beyond the first 64"),
    Case("log_paths", "names of open files in entry states: they cannot be read"),
    Case("userfaultfd,heap", "the allocator's lists in entry states: the heap cannot be read"),
)
# Of such a report: what the client has given up before.
BEFORE = (
    Case("additions_table", "what the program notes, and names of files: there was no memory for their table", "notes logs inputs"),
    Case("marked_table", "all memory: not all values that the program marks as sensitive could be masked", "frames minidump snapshots", how="mark"),
    Case("userfaultfd", "entry states are copies of what arguments reached, to depth [0-9]+: .* refuses userfaultfd"),
    Case("write_tracking", "entry states are copies of .*: the kernel cannot track writes asynchronously"),
    Case("userfaultfd,copies", "no entry states: .* process_vm_readv, and pipes", "snapshots"),
    Case("map_list", "entry states were recorded until the program had more than 1024 writable mappings", "snapshots"),
    Case("register", "entry states were recorded until a mapping could not be watched", "snapshots"),
    Case("log_memory", "no entry states: no memory for the log of snapshots", "snapshots"),
)
# Of a raw report, which the client writes.
RAW = (
    Case("collector_missing", "a report by the collector: no recrash-collector was found"),
    Case("abort_message", "the C library's last message: it cannot be read", "message", how="abort"),
    Case("exe", "what /proc did not tell of the process: its program", "frames names program"),
    Case("cwd", "what /proc did not tell of the process: its working directory"),
    Case("cmdline", "what /proc did not tell of the process: its command line"),
    Case("smaps", "which memory the program excludes from core dumps"),
    Case("maps", "what /proc did not tell of the process: its mappings", "all"),
    Case("time", "the time was over before all of the memory was kept", "frames memory snapshots"),
    Case("pagemap", "mappings were left out: their pages cannot be listed", "frames memory snapshots"),
    Case("page", "[0-9]+ pages of memory could not be read", "frames memory snapshots"),
    Case("task", "other threads, if there were any: without /proc they were not all found", "names threads"),
    Case("hold", "1 threads were not held: they ran on", "memory names threads"),
    Case("thread_name", "1 names of threads: /proc does not tell", "names"),
    Case("descriptors", "open files: /proc does not list them", "files"),
    Case("descriptor_name", "[0-9]+ open files: /proc does not tell name, or position and flags", "files"),
    Case("descriptor_position", "[0-9]+ open files: /proc does not tell name, or position and flags"),
    Case("additions_table", "what the program notes, and names of files: there was no memory for their table", "notes logs inputs"),
    Case("named_file", "log .*/log: it is not there, no regular file, or cannot be read", "logs inputs"),
    Case("named_file_memory", "a log or an attached file: there was no memory to read it into \\(2 times\\)", "logs inputs"),
    Case("mask", "all memory: not all values that the program marks as sensitive could be masked", "frames", how="mark"),
    Case("marked_table", "notes, logs and attached files: the program marks more values than can be masked", "frames inputs logs notes", how="mark"),
    Case("disk", "all but the innermost frames", "memory logs inputs snapshots"),
)
ALWAYS = ("collector_missing",)  # a raw report has the sentence anyway
# There is a collector, but no report by it: the raw one says so.
REFUSED = (Case("record", "a report by the collector: .* ended with status 1"),)
NOT_STARTED = (Case("collector_start", "a report by the collector: .* could not be started"),)


def points_in(*rooms):
    found = set()
    for room in rooms:
        for file in (SOURCE / room).rglob("*.cc"):
            found |= set(re.findall(r'\bFails\("(\w+)"\)', file.read_text()))
    return found


class Losses(Workspace):
    def setUp(self):
        super().setUp()
        for name in ("input", "other", "attached", "log"):
            (self.path / name).write_text(f"{name}\n")

    def die(self, case, point, raw):
        """What `recrash show` prints and says of the report that the program leaves."""
        reports = self.path / f"reports.{point}"
        variables = {"RECRASH_DIR": reports, "RECRASH_COLLECTOR": "/nonexistent" if raw else COLLECTOR, "RECRASH_WITHOUT": point,
                     "RECRASH_OPTIONS": case.options}
        signal = SIGABRT if case.how in ("abort", "throw") else SIGSEGV
        self.run_command(PROGRAM, case.how, "input", expect=-signal, env={key: str(value) for key, value in variables.items()})
        (report,) = [file for file in reports.iterdir() if file.suffix in (".rcr", ".rcraw")]
        self.assertEqual(report.suffix, ".rcraw" if raw or case in REFUSED + NOT_STARTED else ".rcr")
        words = ("recrash", "show", report, "--program", PROGRAM)
        printed = self.run_command(*words).stdout
        shown = json.loads(self.run_command(*words, "--json", "-").stdout)
        return printed, shown, self.holdings(printed, shown, report)

    def holdings(self, printed, shown, report):
        threads, modules, files = map(int, re.search(r"(\d+) threads?, (\d+) modules, (\d+) open files", printed).groups())
        own = [frame for frame in shown.get("frames", []) if "losing.cc" in frame["file"]]
        return {"failure": (shown["signal"], shown["code"]), "message": bool(shown["message"]), "exception": shown["exception"],
                "program": shown["program"] == str(PROGRAM), "signature": bool(shown["signature"]),
                "frames": [frame["function"] for frame in own], "threads": threads, "modules": modules, "files": files,
                "names": [bool(thread["name"]) for thread in shown.get("other_threads", [])], "notes": shown["program_notes"],
                "logs": [(log["kind"], log["held"]) if "held" in log else log for log in shown["logs"]],
                "inputs": [(one["path"], one["names"], one["held"], bool(one["sha256"])) for one in shown["inputs"]],
                "memory": shown["memory_complete"], "snapshots": shown["snapshots"] and shown["snapshots"]["frames"],
                "minidump": report.with_suffix(".dmp").exists()}

    def check(self, cases, raw):
        without = {}
        for case in cases:
            with self.subTest(case.point):
                key = case.how, "userfaultfd" in case.point
                if key not in without:
                    without[key] = self.die(case, "none" + str(len(without)), raw or case in REFUSED + NOT_STARTED)
                if case.point not in ALWAYS:
                    self.assertNotRegex(without[key][0], f"lost: .*{case.loss}", "without the fail point")
                printed, shown, holds = self.die(case, case.point, raw)
                self.assertTrue([loss for loss in shown["losses"] if re.search(case.loss, loss)], shown["losses"])
                self.assertRegex(printed, f"lost: .*{case.loss}")
                changed = {name for name in holds if holds[name] != without[key][2][name]}
                if case.lacks != "all":
                    self.assertEqual(" ".join(sorted(changed)), " ".join(sorted(case.lacks.split())), (without[key][2], holds))

    def test_of_the_collector(self):
        self.check(COLLECTED, raw=False)

    def test_of_the_client_before_the_report(self):
        self.check(BEFORE, raw=False)

    def test_of_the_client_in_a_raw_report(self):
        self.check(RAW, raw=True)

    def test_of_a_child_of_fork(self):
        env = {"RECRASH_COLLECTOR": str(COLLECTOR)}
        self.run_command(PROGRAM, "fork", "input", env=env)
        (report,) = self.reports.glob("*.rcr")
        shown = self.run_command("recrash", "show", report, "--program", PROGRAM).stdout
        self.assertIn("lost: no entry states: they were recorded in a parent process", shown)

    def test_of_a_collector_that_gives_up(self):
        self.check(REFUSED + NOT_STARTED, raw=False)


class FailPoints(unittest.TestCase):
    def points_of(self, *tables):
        return {case.point.split(",")[-1] for table in tables for case in table}

    def test_each_is_tested(self):
        self.assertEqual(points_in("agent/client"), self.points_of(BEFORE, RAW, NOT_STARTED))
        self.assertEqual(points_in("agent/collector", "agent/process", "agent/store", "agent/report", "agent/base"),
                         self.points_of(COLLECTED, REFUSED))


class Shipped(Workspace):
    """The client and the collector that users get know no fail point."""

    FILES = ("bin/recrash-collector", "lib/recrash/librecrash_client.a", "lib/recrash/librecrash_client_static.a",
             "lib/recrash/librecrash_preload.so", "lib/recrash/recrash_embedded_collector.o")

    def test_have_no_names(self):
        for name in self.FILES:
            self.assertNotIn(b"RECRASH_WITHOUT", (PREFIX / name).read_bytes(), name)
        self.assertIn(b"RECRASH_WITHOUT", COLLECTOR.read_bytes(), "else this shows nothing")

    def test_lose_nothing_by_them(self):
        program = self.compile_text("int main(int count, char**) { return count == 1 ? *(volatile int*)0 : 0; }")
        for point in sorted(points_in("agent")):
            report = self.crash(program, died_of=SIGSEGV, env={"RECRASH_WITHOUT": point})
            shown = json.loads(self.run_command("recrash", "show", report, "--json", "-").stdout)
            self.assertEqual(shown["losses"], [], point)
            report.unlink()


if __name__ == "__main__":
    main()
