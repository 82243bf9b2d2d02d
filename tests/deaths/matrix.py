"""The cells: a way to die, where, in which surroundings, in which build, beside how many other threads.

`pairwise()` has every pair of values of two axes in at least one cell. `whole()` has, besides, every way in main, in a thread and
in a child, in every build, with and without the collector, ptrace and /proc.
"""

import dataclasses
import itertools

import ways

MODES = ("references", "full", "second-chance", "references+second-chance", "adaptive", "preload")
WATCHED = ("second-chance", "references+second-chance", "adaptive")
CONTEXTS = ("main", "thread", "fork", "vfork", "handler", "constructor", "exit", "library", "ucontext", "coroutine", "blocked",
            "earlier_handlers", "failing_handlers", "failing_later", "reset", "chained", "aborting", "small_stack")
OUTER = ("usual", "no_collector", "hanging_collector", "dying_collector", "no_ptrace", "no_proc", "docker", "old_docker", "flatpak", "closed_stderr",
         "small_disk", "small_group")
INNER = ("undumpable", "undumpable_kept", "descriptors", "addresses", "data", "processes", "small_files", "no_exec")
SURROUNDINGS = (*OUTER, *INNER)
BY_LAUNCH = (*OUTER, "no_core")  # of speed.py
OTHERS = (0, 1, 20)

AXES = (tuple(ways.WAYS), CONTEXTS, SURROUNDINGS, MODES, OTHERS)
CHILDREN = ("fork", "vfork")
THREADS = ("thread", "blocked")
# An exception that only main catches has to reach it. A coroutine catches it, too, and throws it again.
CAUGHT_IN = ("main", "library", "handler", "earlier_handlers", "failing_handlers", "failing_later", "reset", "chained", "aborting",
             "small_stack")
NO_FAILURES = ("Raise_SIGSYS", "Raise_SIGXCPU", "Raise_SIGXFSZ", "Raise_SIGQUIT", "Raise_SIGSTKFLT", "FileTooLarge", "TooLong", "ForbiddenCall")
# Contexts, surroundings and numbers of threads for a way that takes seconds; other threads use time, too.
UNHURRIED = (("main", "thread", "fork", "library", "earlier_handlers"), ("usual", "no_collector", "no_ptrace", "small_disk"), (0,))
# What is scarce keeps the program itself from its way: no child, no file, no memory for the exception.
OTHERWISE = (("SentByChild", "processes"), ("FileTooLarge", "descriptors"), ("Replace", "addresses"), ("Replace", "data"))


@dataclasses.dataclass(frozen=True)
class Cell:
    way: str
    context: str
    surroundings: str
    mode: str
    others: int

    def __str__(self):
        return " ".join(map(str, dataclasses.astuple(self)))

    @property
    def folder(self):
        return str(self).replace(" ", ",")


def possible(values):
    """Of some of a cell's values; None where one is not chosen yet."""
    way, context, surroundings, _, others = values
    if way == "TooLong" and not all(value in (None, *allowed) for value, allowed in zip((context, surroundings, others), UNHURRIED)):
        return False
    if way == "CaughtInMain" and context is not None and context not in CAUGHT_IN:
        return False
    # A program that handles signals which are no failures handles them alone; what its handler dies of is another way.
    if context in ("failing_handlers", "failing_later") and way in NO_FAILURES:
        return False
    # It may be killed amid fork(), whose locks it shares with its parent.
    return (way, context) != ("SentByChild", "vfork") and (way, surroundings) not in OTHERWISE


def all_pairs():
    for first, second in itertools.combinations(range(len(AXES)), 2):
        for one in AXES[first]:
            for other in AXES[second]:
                values = [None] * len(AXES)
                values[first], values[second] = one, other
                if possible(values):
                    yield (first, one), (second, other)


def pairs_of(values):
    chosen = [(axis, value) for axis, value in enumerate(values) if value is not None]
    return itertools.combinations(chosen, 2)


def pairwise():
    """Greedy: a cell for the first pair that has none, with the values beside it that bring most pairs."""
    open_pairs, cells = dict.fromkeys(all_pairs()), []
    uses = {(axis, value): 0 for axis, values in enumerate(AXES) for value in values}
    while open_pairs:
        values = [None] * len(AXES)
        for axis, value in next(iter(open_pairs)):
            values[axis] = value
        for axis, value in enumerate(values):
            if value is not None:
                continue
            best = None
            for candidate in AXES[axis]:
                values[axis] = candidate
                if possible(values):
                    score = sum(pair in open_pairs for pair in pairs_of(values)), -uses[axis, candidate]
                    if best is None or score > best[0]:
                        best = score, candidate
            values[axis] = best[1]
        for pair in pairs_of(values):
            open_pairs.pop(pair, None)
        for axis, value in enumerate(values):
            uses[axis, value] += 1
        cells.append(Cell(*values))
    return cells


def named_by_the_issue():
    for values in itertools.product(ways.WAYS, ("main", "thread", "fork"), ("usual", "no_collector", "no_ptrace", "no_proc"),
                                    MODES, (1,)):
        if possible(values):
            yield Cell(*values)


def whole():
    return list(dict.fromkeys([*pairwise(), *named_by_the_issue()]))
