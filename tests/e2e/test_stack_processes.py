"""Signals, processes, threads, libraries, and what runs before main and after it: every frame has its arguments."""

import signal

import harness
from situation import FOLDER, SEGV, Situation, failed_work


class Handler(Situation):
    def test_on_an_alternate_stack(self):
        self.build("handler")
        self.fails("handled", SEGV, *failed_work(6000 + signal.SIGALRM, "in the handler"),
                   f"OnAlarm(signal = {signal.SIGALRM.value})", 'Busy(number = 1001, name = "interrupted")',
                   'Outer(number = 1000, name = "outside")', reproduced=("Last", "Work"),
                   watched=("Last", "Work", "OnAlarm", "Busy", "Outer"))


class Stepped(Situation):
    """A handler that fails before each instruction of a function in turn: in its prologue, while its arguments are
    stored, after a call, in its epilogue. Single steps make the interruption exact."""

    def test_between_any_two_instructions(self):
        self.build("stepped")
        for build in self.builds:
            steps = 0
            every = 1 if build.level == "-O2" else 9
            while self.run_command(self.programs[build], steps, expect=None).returncode == -SEGV:
                (report,) = self.reports.glob("*.rcr")
                with self.subTest(build=build.name, steps=steps):
                    self.assertEqual(self.monitored(report),
                                     [*failed_work(7000, "in the handler"),
                                      'Stepped(number = 1001, name = "stepped", third = 3000000000)',
                                      'Outer(number = 1000, name = "around")'])
                report.unlink()
                steps += every
            self.assertGreater(steps, 10)


class Pool(Situation):
    def test_one_worker_fails(self):
        self.build("pool")
        self.fails("worker", SEGV, "Last(number = 3002, place = nullptr)",
                   'Meet(number = 2002, name = "two", fails = true)', 'Do(number = 2002, name = "two")',
                   'Run(number = 100, name = "worker")', reproduced=("Last",))


class Processes(Situation):
    FORKED = (*failed_work(2001, "forked"), 'Child(number = 2000, name = "child")',
              'Fork(number = 1000, name = "forking")')
    VFORKED = (*failed_work(3001, "vforked to fail"), 'VforkChild(number = 3000, name = "vfork child", fails = true)',
               'Vfork(number = 1500, name = "vforking")')
    PARENT = (*failed_work(4001, "after the child"), 'Parent(number = 4000, name = "parent")')

    def test_a_child_fails(self):
        self.build("fork")
        # What the parent kept of its entries is not a child's.
        self.fails("child", SEGV, *self.FORKED, status=0, reproduced=("Last", "Work"), watched=())
        self.fails("vfork-child", SEGV, *self.VFORKED, status=0, reproduced=("Last", "Work"), watched=())

    def test_the_parent_fails_after_its_children(self):
        self.build("fork")
        self.fails("parent", SEGV, *self.PARENT, reproduced=("Last", "Work"))

    # A child of vfork runs in its parent's memory, and what the agent notes of the one's end is there for the other.
    def test_a_child_fails_and_then_the_parent(self):
        self.build("fork")
        self.fails("both", SEGV, self.FORKED, self.PARENT, watched=())
        self.fails("vfork-both", SEGV, self.VFORKED, self.PARENT)


class Plugins(Situation):
    """A program loads its own libraries: PROGRAM.liba.so and PROGRAM.libb.so."""

    def compile_situation(self, compiler, name, output, flags):
        for library, second in (("liba.so", ()), ("libb.so", ("-DSECOND",))):
            self.run_command(*harness.ONCE, compiler, "-std=c++20", "-g", "-fPIC", "-shared", f"-I{FOLDER}", *flags, *second,
                             FOLDER / "plugin.cc", "-o", output + "." + library)
        return super().compile_situation(compiler, name, output, flags)

    def ends_well(self, build):
        plain, ours = self.run_command(self.plain[build.level]), self.run_command(self.programs[build])
        self.assertRegex(plain.stdout, "^the same place\ntotal ")
        self.assertEqual(ours.stdout, plain.stdout)
        # A profile names functions of libraries that are not there yet when it is read.
        self.assertRegex(ours.stderr, r"^(recrash: profile .* or in a library that is loaded later\n)?$")

    def test_libraries_come_and_go(self):
        self.build("plugins")
        exchanging = 'Exchange(number = 1000, name = "exchanging")'
        self.fails("loaded", SEGV, "Last(number = 2804, place = nullptr)",
                   'Inner(number = 1402, text = "of the first", place = nullptr)',
                   'Enter(number = 1002, name = "entered", place = nullptr)',
                   'Call(number = 1001, name = "calling the first")', exchanging,
                   reproduced=("Last", "Inner"))
        self.fails("exchanged", SEGV, "Last(number = 4509, place = nullptr)",
                   'Inner(text = "of the second", place = nullptr, number = 1503)',
                   'Enter(number = 1003, name = "entered", place = nullptr)',
                   'Call(number = 1002, name = "calling the second")', exchanging,
                   reproduced=("Last", "Inner"))
        self.fails("closed", SEGV, *failed_work(1003, "all are closed"), exchanging, reproduced=("Last", "Work"))


class Initialisers(Situation):
    """The agent starts with the earliest constructors of the program: libraries' and some of the program's own run
    before it, and destructors after all of main's."""

    def build(self, name):
        self.libraries = ("-L.", "-linitialised", "-Wl,-rpath,$ORIGIN")
        super().build(name)

    def compile_situation(self, compiler, name, output, flags):
        self.run_command(*harness.ONCE, compiler, "-std=c++20", "-g", "-fPIC", "-shared", "-pthread", f"-I{FOLDER}", *flags,
                         FOLDER / "initialised_library.cc", "-o", "libinitialised.so")
        return super().compile_situation(compiler, name, output, flags)

    def test_before_and_after_main(self):
        self.build("initialisers")
        self.fails("early", SEGV, watched=())  # as its plain build does: there is nobody yet to report it
        self.fails("initialiser", SEGV, *failed_work(2002, "before main"),
                   'Around(number = 2001, name = "before main")',
                   'Global(this = Global {number = 2000}, given = 2000, name = "global")',
                   reproduced=("Last", "Work", "Around"))
        self.fails("atexit", SEGV, *failed_work(4001, "at exit"), 'Around(number = 4000, name = "at exit")',
                   reproduced=("Last", "Work", "Around"))
        self.fails("destructor", SEGV, *failed_work(2003, "after main"), 'Around(number = 2002, name = "after main")',
                   "~Global(this = Global {number = 2000})", reproduced=("Last", "Work", "Around"))
        self.fails("late", SEGV, *failed_work(5001, "behind the agent"),
                   'Around(number = 5000, name = "behind the agent")', reproduced=("Last", "Work", "Around"))


if __name__ == "__main__":
    harness.main()
