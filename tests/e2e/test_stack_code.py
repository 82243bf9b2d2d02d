"""What instrumentation leaves as it was in the code of programs: tail calls, and which functions have a canary."""

import re

import harness
from situation import BUILDS, FOLDER, PLAIN, SEGV, Situation, failed_work

OBJDUMP = f"llvm-objdump-{harness.LLVM}"
# -fPIC: calls have relocations, and so the names of what they go to.
FLAGS = ("-std=c++20", "-g", "-fPIC", "-fstack-protector-strong", "-D_FORTIFY_SOURCE=2", f"-I{FOLDER}")


# Builds and programs: a choice, for the compiler's time.
OPTIMISED = tuple(build for build in BUILDS if build.level == "-O2")
PROGRAMS = {"tail_calls": OPTIMISED, "odd_functions": BUILDS, "hardened": BUILDS, "exceptions": OPTIMISED,
            "coroutine": OPTIMISED, "pool": OPTIMISED}


class Function:
    """Of an object file: where it jumps to for good, and whether it checks a canary."""

    def __init__(self):
        self.tail_calls = []
        self.protected = False


def functions(listing):
    """From objdump's listing with relocations. A tail call is a jump to another function's name, or to an address that
    was computed (a switch's jump is one, too)."""
    found, function, jump = {}, None, False
    for line in listing.splitlines():
        if head := re.match(r"[0-9a-f]+ <(.+)>:$", line):
            function, jump = found.setdefault(head[1], Function()), False
        elif relocation := re.search(r"\sR_X86_64_\w+\s+(\S+?)([-+]0x[0-9a-f]+)?$", line):
            if jump:
                function.tail_calls.append(relocation[1])
            if relocation[1] == "__stack_chk_fail":
                function.protected = True
            jump = False
        elif function is not None:
            jump = "\tjmp" in line
            if re.search(r"\tjmpq\s+\*", line):
                function.tail_calls.append("*")
    return found


class Code(Situation):
    def functions_of(self, compiler, name, output, flags):
        self.run_command(*harness.ONCE, compiler, *FLAGS, *flags, "-c", FOLDER / f"{name}.cc", "-o", output)
        found = functions(self.run_command(OBJDUMP, "-dr", "--no-show-raw-insn", output).stdout)
        return {name: each for name, each in found.items() if not name.startswith(".")}  # a section's: padding

    def test_tail_calls_and_stack_protectors_are_those_of_the_plain_program(self):
        tail_calls, protected = 0, 0
        for name, builds in PROGRAMS.items():
            plain = {level: self.functions_of(PLAIN, name, "plain.o", (level,))
                     for level in {build.level for build in builds}}
            for build in builds:
                ours = self.functions_of("recrash-clang++", name, "ours.o", build.flags)
                with self.subTest(name=name, build=build.name):
                    self.assertEqual(ours.keys(), plain[build.level].keys())
                    for function, expected in plain[build.level].items():
                        self.assertEqual(sorted(ours[function].tail_calls), sorted(expected.tail_calls), function)
                        self.assertEqual(ours[function].protected, expected.protected, function)
                        tail_calls += len(expected.tail_calls)
                        protected += expected.protected
        # There were some to be lost, and some without a canary beside those that have one.
        self.assertGreater(tail_calls, 40)
        self.assertGreater(protected, 20)

    def test_a_million_tail_calls(self):
        self.builds = OPTIMISED
        self.build("tail_calls")
        self.fails("arrived", SEGV, *failed_work(7042, "after a million tail calls"),
                   'Arrive(number = 42, name = "arriving")', 'Start(number = 1000, name = "starting")',
                   reproduced=("Last", "Work", "Arrive"))

    # Debug information has the node from the caller's call site alone, and that call was of another function.
    def test_double_dispatch(self):
        self.builds = OPTIMISED
        self.build("tail_calls")
        self.fails("visited", SEGV, *failed_work(8000, "after double dispatch"),
                   'Look(node = Leaf {number = 8000}, name = "looking")',
                   'Visit(this = Counter {seen = 0}, node = Leaf {number = 8000})', 'Walk(number = 8000, name = "walking")',
                   reproduced=("Last", "Work", "Look", "Visit", "Walk"))
        self.fails("read", SEGV, 'Visit(this = Reader {seen = 0}, node = Leaf {number = 8000})',
                   'Walk(number = 8000, name = "walking")', reproduced=("Visit",))


if __name__ == "__main__":
    harness.main()
