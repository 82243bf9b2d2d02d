"""Exceptions, jumps, coroutines and switched stacks: every frame of the failure has its arguments."""

import pathlib

import harness
from situation import ABRT, OPTIMISED, SEGV, Situation, call, failed_work


class Exceptions(Situation):
    def test_exceptions(self):
        self.build("exceptions")
        self.fails("nested", SEGV, *failed_work(1100, "in two handlers"), 'Unpack(number = 1000, name = "unpacking")',
                   reproduced=("Last", "Work"))
        self.fails("rethrown", ABRT, 'Throw(number = 5001, why = "first")', 'Pass(number = 5000, name = "uncaught")',
                   reproduced=("Throw", "Pass"))
        self.fails("noexcept", ABRT, 'Throw(number = 4002, why = "first")',
                   'Pass(number = 4001, name = "through noexcept")', 'Promise(number = 4000, name = "promised")',
                   reproduced=("Throw", "Pass", "Promise"))
        self.fails("unwinding", SEGV, *failed_work(2051, "destroyed"),
                   '~Guard(this = Guard {number = 2050, name = "guarded"})',
                   'Unwind(number = 2000, name = "guarded")', reproduced=("Last", "Work"))
        self.fails("destructor", ABRT, 'Throw(number = 3051, why = "from a destructor")',
                   "~Thrower(this = Thrower {number = 3050})", 'ThrowTwice(number = 3000, name = "twice")',
                   reproduced=("Throw",))

    def test_carried_to_another_thread(self):
        self.build("exception_ptr")
        self.fails("received", SEGV, *failed_work(1100, "received"), 'Wait(number = 1000, name = "waiting")',
                   reproduced=("Last", "Work"))
        self.fails("uncaught", ABRT, 'Receive(number = 1001, name = "receiving")',
                   'Wait(number = 1000, name = "waiting")', reproduced=("Receive",))


class Jumps(Situation):
    def test_longjmp(self):
        self.build("longjmp")
        self.fails("landed", SEGV, *failed_work(5021, "after the jump"), 'Land(number = 1000, name = "landing")',
                   reproduced=("Last", "Work"))


class SwitchedStacks(Situation):
    def test_a_coroutine_on_other_threads(self):
        self.build("coroutine")
        self.fails("resumed", SEGV, *failed_work(1021, "counted"), 
                   # Of the source's arguments, which are in the coroutine's frame, clang says nothing with -O2.
                   {"-O0": 'Count(number = 1001, name = "counted", rounds = 3)',
                    "-O2": "Count(number = ?, name = ?, rounds = ?)"}, 'Resume(number = 2002, name = "resuming")',
                   reproduced=("Last", "Work", "Count", "Resume"))

    def test_contexts(self):
        self.build("contexts")
        self.fails("switched", SEGV, *failed_work(3101, "second"),
                   'Share(number = 3001, name = "second", first = false)', "Body(number = 3000, first = 0)",
                   reproduced=("Last", "Work"))

    def test_fibres(self):
        if not pathlib.Path("/usr/include/boost/context/fiber.hpp").exists():
            self.skipTest("Boost.Context is not installed (Debian: libboost-context-dev)")
        self.libraries = ("-lboost_context",)
        self.build("fibers")
        self.fails("switched", SEGV, *failed_work(3100, "caught in a fibre"),
                   'Body(number = 3000, name = "second")', reproduced=("Last", "Work"))


class WithoutRecords(Situation):
    """The premise of all these tests: after the call only a record has the arguments. The same program without records,
    under the same agent, does not."""

    builds = (OPTIMISED,)

    def test_the_arguments_are_gone(self):
        program = self.compile_situation("recrash-clang++", "longjmp", "program", ("-O2", "-fno-recrash"))
        self.run_command("recrash", "run", "--once", "--", program, "landed", expect=128 + SEGV)
        (report,) = self.reports.glob("*.rcr")
        frames = {harness.short_name(frame["function"]): call(frame) for frame in self.frames(report)}
        self.assertIn("name = ?)", frames["Work"])  # its number LLVM 22 still has, in a register of the caller
        self.assertEqual(frames["Land"], "Land(number = ?, name = ?)")


if __name__ == "__main__":
    harness.main()
