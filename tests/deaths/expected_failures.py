"""What is known not to hold yet, each with a sentence. A cell that is listed and holds fails the run: strike it off.

An entry says which checks fail in all cells that it covers, and under `may_fail` those of which it depends on more than the cell.
"""

import dataclasses

import checks
import matrix
import ways


@dataclasses.dataclass(frozen=True)
class Expected:
    why: str
    checks: tuple  # of cells.CHECKS
    way: tuple = None  # None: any
    context: tuple = None
    surroundings: tuple = None
    mode: tuple = None
    others: tuple = None
    may_fail: tuple = ()

    def covers(self, cell):
        return all(wanted is None or value in wanted for wanted, value in
                   ((self.way, cell.way), (self.context, cell.context), (self.surroundings, cell.surroundings),
                    (self.mode, cell.mode), (self.others, cell.others)))


REPORTED = tuple(name for name, way in ways.WAYS.items() if way.leaves_report)
WITH_MEMORY = tuple(name for name in matrix.SURROUNDINGS if name not in checks.WITHOUT_MEMORY)

EXPECTED = (
    # In the program.
    Expected("a handler that sends the signal again is known by what it sent, without its code", ("content",), way=("FileTooLarge", "TooLong"),
             context=("reset", "earlier_handlers")),
    Expected("a handler that sends the signal again is known by what it sent, without its code", ("content",), way=("ForbiddenCall",),
             context=("earlier_handlers",)),
    # Around it.
    Expected("a program that is not dumpable is not opened to ptrace for a signal that another process has sent; a user who is not root gets "
             "a raw report", (), way=("SentByChild",), surroundings=("undumpable", "undumpable_kept"), may_fail=("report",)),
    Expected("a raw report that is written without a process of its own has the soft limit on files; root's processes have no limit", (),
             way=("FileTooLarge",), surroundings=("processes",), may_fail=("report",)),
    Expected("without /proc nothing tells the recorder what is mapped, so that there are no entry states", (),
             surroundings=("no_proc",), mode=matrix.WATCHED, may_fail=("as collected",)),
    Expected("where the disk has no room for all, the innermost frames alone are kept", (), way=REPORTED, surroundings=("small_disk",),
             may_fail=("reproduces",)),
    # At the desk.
    Expected("which frames outside the failing one reproduce differs from run to run, with and without a collector", (),
             way=("SentByChild", "FreeTwice", "StackOverflow"), may_fail=("as collected",)),
    Expected("a file that is gone cannot be mapped again, so that the page behind its end is not there", ("reproduces",),
             way=("BeyondFile",), surroundings=WITH_MEMORY),
)


def of(cell):
    """(checks that fail, checks that may fail, the sentences)"""
    found = [expected for expected in EXPECTED if expected.covers(cell)]
    return {check for each in found for check in each.checks}, {check for each in found for check in each.may_fail}, \
        "; ".join(each.why for each in found)
