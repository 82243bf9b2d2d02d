#!/usr/bin/env python3
"""The sandbox's list and the calls that replays were seen to make agree."""

import unittest

import replay_calls


class List(unittest.TestCase):
    def setUp(self):
        self.made = set(replay_calls.used())
        self.table, self.kept = replay_calls.listed("kMade"), replay_calls.listed("kKept")
        self.conditions = replay_calls.listed("conditions")

    def test_what_was_made_is_allowed_or_refused_on_purpose(self):
        self.assertEqual(self.made - self.table - self.conditions - replay_calls.listed("kRefused"), set())

    def test_the_table_of_calls_that_are_made_has_no_others(self):
        self.assertEqual(self.table - self.made, set())

    def test_the_table_of_calls_that_none_makes_has_no_others(self):
        self.assertEqual(self.kept & self.made, set())

    def test_a_call_is_in_one_table(self):
        self.assertEqual(self.table & self.kept | self.conditions & (self.table | self.kept), set())


class Following(unittest.TestCase):
    """Lines as perf script writes them. 446 is landlock_restrict_self, 157 prctl, 39 getpid, 1 write."""

    LINES = """
  7/7   raw_syscalls:sys_enter: NR 39 (0, 0, 0, 0, 0, 0)
  8/8   raw_syscalls:sys_enter: NR 157 (16, 2, 7ffe, 0, 0, 0)
  8/8   raw_syscalls:sys_enter: NR 39 (0, 0, 0, 0, 0, 0)
  7/7   raw_syscalls:sys_enter: NR 446 (3, 0, 0, 0, 0, 0)
  7/7   raw_syscalls:sys_enter: NR 157 (16, 2, 7ffe, 0, 0, 0)
  7/7 sched:sched_process_fork: comm=a pid=7 child_comm=a child_pid=9
  9/9   raw_syscalls:sys_enter: NR 1 (2, 7ffe, 1, 0, 0, 0)
  5/5 sched:sched_process_fork: comm=b pid=5 child_comm=b child_pid=9
  9/9   raw_syscalls:sys_enter: NR 0 (2, 7ffe, 1, 0, 0, 0)
"""

    def test_a_replay_and_what_it_starts_are_counted_and_nobody_else(self):
        replays = replay_calls.Replays()
        for line in self.LINES.splitlines():
            replays.follow(line)
        self.assertEqual((replays.count, dict(replays.seen)), (1, {"write": {1}}))


if __name__ == "__main__":
    unittest.main()
