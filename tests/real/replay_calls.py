#!/usr/bin/env python3
"""Counts which system calls replays make, and compares them with the sandbox's list.

  tests/real/replay_calls.py --count NAME -- COMMAND…   run a command, count the calls of its replays, keep them as NAME's
  tests/real/replay_calls.py --compare                  the list (testgen/replay/sandbox/filter.cc) and what is kept

perf sees the calls and takes no part in them: a tracer would be in the way of the launcher, which traces the subject. A replay begins
where a process puts a filter on after Landlock. What it starts belongs to it. Needs root, and perf (Debian: linux-perf). What is kept is
docs/measurements/replay_calls.json: for each call, in how many replays of which NAME.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
KEPT = ROOT / "docs/measurements/replay_calls.json"
FILTER = ROOT / "testgen/replay/sandbox/filter.cc"
NUMBERS = pathlib.Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")
ENTER, FORK = "raw_syscalls:sys_enter", "sched:sched_process_fork"
PUTS_FILTER_ON = ("prctl", 22)  # PR_SET_SECCOMP

CALL = re.compile(r"\s*\d+/(\d+)\s+raw_syscalls:sys_enter: NR (-?\d+) \(([0-9a-f]+)")
CHILD = re.compile(r"\s*\d+/(\d+)\s+sched:sched_process_fork: .*child_pid=(\d+)")


def call_names():
    return {int(number): name for name, number in re.findall(r"#define __NR_(\w+) (\d+)", NUMBERS.read_text())}


class Replays:
    """Follows the lines of `perf script`, in the order of time."""

    def __init__(self):
        self.names = call_names()
        self.replay_of = {}  # thread -> number of its replay
        self.restricted = set()  # threads that Landlock holds: only a replay's has a filter as well
        self.count = 0
        self.seen = collections.defaultdict(set)  # call -> replays

    def follow(self, line):
        if call := CALL.match(line):
            thread, number, first = int(call[1]), int(call[2]), int(call[3], 16)
            name = self.names.get(number, str(number))
            if thread in self.replay_of:
                self.seen[name].add(self.replay_of[thread])
            elif name == "landlock_restrict_self":
                self.restricted.add(thread)
            elif (name, first) == PUTS_FILTER_ON and thread in self.restricted:
                self.count += 1
                self.replay_of[thread] = self.count
        elif child := CHILD.match(line):
            self.replay_of.pop(int(child[2]), None)  # the number of a thread that has ended
            self.restricted.discard(int(child[2]))
            if int(child[1]) in self.replay_of:
                self.replay_of[int(child[2])] = self.replay_of[int(child[1])]


def count(command):
    """The command's status, and its replays. In a mount namespace of its own, since perf wants the tracing files mounted."""
    with tempfile.TemporaryDirectory(prefix="recrash-calls.") as folder:
        data = os.path.join(folder, "data")
        record = ["perf", "record", "-q", "-m", "4M", "-e", ENTER, "-e", FORK, "-o", data, "--", *command]
        script = ["perf", "script", "-i", data, "-F", "pid,tid,event,trace"]
        mounted = ["unshare", "--mount", "sh", "-ec", 'mount -t tracefs none /sys/kernel/tracing; exec "$@"', "sh"]
        status = subprocess.run(mounted + record).returncode
        replays = Replays()
        with subprocess.Popen(mounted + script, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as lines:
            for line in lines.stdout:
                replays.follow(line)
    return status, replays


def read_kept():
    return json.loads(KEPT.read_text()) if KEPT.exists() else {}


def keep(name, replays):
    kept = read_kept()
    kept[name] = {"replays": replays.count, "calls": {call: len(seen) for call, seen in sorted(replays.seen.items())}}
    KEPT.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")


def listed(table):
    """The calls of a table of filter.cc, or those that have a condition."""
    text = FILTER.read_text()
    if table == "conditions":
        return set(re.findall(r"builder->\w+\(SYS_(\w+)", text))
    body = re.search(rf"constexpr long {table}\[\] = {{(.*?)}};", text, re.DOTALL)[1]
    return set(re.findall(r"SYS_(\w+)", body))


def used():
    calls = collections.Counter()
    for one in read_kept().values():
        calls.update(one["calls"])
    return calls


def compare():
    allowed, conditions, calls = listed("kMade") | listed("kKept"), listed("conditions"), used()
    print(f"{sum(one['replays'] for one in read_kept().values())} replays")
    print("allowed, and made by none:", *sorted(allowed - set(calls)))
    print("allowed, and made (in so many):", *(f"{call}={calls[call]}" for call in sorted(allowed & set(calls))))
    print("with a condition, and made:", *(f"{call}={calls[call]}" for call in sorted(conditions & set(calls))))
    print("made, and not allowed:", *(f"{call}={calls[call]}" for call in sorted(set(calls) - allowed - conditions)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", metavar="NAME")
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("command", nargs="*")
    arguments = parser.parse_args()
    status = 0
    if arguments.count:
        status, replays = count(arguments.command)
        keep(arguments.count, replays)
        print(f"{arguments.count}: {replays.count} replays, {len(replays.seen)} calls", file=sys.stderr)
    if arguments.compare:
        compare()
    return status


if __name__ == "__main__":
    sys.exit(main())
