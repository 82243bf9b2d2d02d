"""Functions of unusual depth, size or convention, and the flags that harden them: every frame has its arguments."""

import harness
from situation import ABRT, BUILDS, SEGV, Situation, failed_work

# As dpkg-buildflags gives them, and what Debian's later releases add.
DEBIAN = ("-fstack-protector-strong", "-fstack-clash-protection", "-Wformat", "-Werror=format-security",
          "-fcf-protection", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2", "-fPIE", "-pie", "-Wl,-z,relro", "-Wl,-z,now")
DEPTH = 1000000


class Recursion(Situation):
    LARGE_STACK = ("sh", "-c", 'ulimit -s 1048576; exec "$0" "$@"')

    def test_a_million_deep(self):
        self.build("recursion", prefix=self.LARGE_STACK)
        for build in self.builds:
            with self.subTest(build=build.name):
                (report,) = self.reports_of(build, "bottom", -SEGV)
                shown = self.monitored(report)
                self.assertEqual(shown[:2], list(failed_work(7000, "at the bottom")))
                half = (len(shown) - 2) // 2
                inner = [self.down(DEPTH - i) for i in range(half)]
                outer = [self.down(i) for i in reversed(range(len(shown) - 2 - half))]
                self.assertEqual(shown[2:], inner + outer)
                self.assertGreater(half, 50)

    def down(self, depth):
        return f'Down(depth = {depth}, name = "{"odd" if depth % 2 else "even"}")'


class ManyBlocks(Situation):
    BRANCHES = 4000

    def compile_situation(self, compiler, name, output, flags):
        """A function of thousands of basic blocks, with a call in each: the one that fails is far from the entry."""
        calls = "\n".join(f"  if (g_words[{i}] != 0) Add(Work(Hidden(g_words[{i}]), Hidden(name)));"
                          for i in range(self.BRANCHES))
        self.folder = self.path
        (self.path / f"{name}.cc").write_text(f"""
#include "situation.h"
using situation::Add;
using situation::FailIf;
using situation::Hidden;
using situation::Use;
volatile int g_words[{self.BRANCHES}];
[[gnu::noinline]] int Choose(int number, const char* name) {{
  Use(number);
{calls}
  return Add(1);
}}
[[gnu::noinline]] int Outer(int number, const char* name) {{
  Use(name);
  g_words[{self.BRANCHES - 10}] = 5000;
  return Add(Choose(Hidden(number + 1), Hidden("chosen")));
}}
int main(int count, char** words) {{
  situation::Begin(count, words);
  FailIf("far");
  Add(Outer(Hidden(1000), Hidden("outer")));
  return situation::End();
}}
""")
        return super().compile_situation(compiler, name, output, flags)

    def test_thousands_of_blocks(self):
        self.build("blocks")
        self.fails("far", SEGV, *failed_work(5000, "chosen"), 'Choose(number = 1001, name = "chosen")',
                   'Outer(number = 1000, name = "outer")', reproduced=("Last", "Work", "Choose", "Outer"))


class OddFunctions(Situation):
    def test_conventions(self):
        self.build("odd_functions")
        # The frames of Skip and Hop are gone: these are tail calls, in every build.
        self.fails("musttail", SEGV, *failed_work(1004, "behind tail calls"),
                   'Landing(number = 1003, name = "landing")', 'Tail(number = 1000, name = "tail")',
                   reproduced=("Last", "Work", "Landing", "Tail"))
        self.fails("naked", SEGV, *failed_work(2003, "behind a naked function"),
                   'BehindNaked(number = 2002, name = "handed through")',
                   'AroundNaked(number = 2000, name = "around")',
                   reproduced=("Last", "Work", "BehindNaked", "AroundNaked"))
        self.fails("noreturn", SEGV, *failed_work(3002, "dying"), 'Die(number = 3001, name = "giving up")',
                   'Give(number = 3000, name = "given")', reproduced=("Last", "Work", "Die", "Give"))
        self.fails("varargs", SEGV, *failed_work(4023, "summed up"), 'Sum(count = 3, name = "three of them")',
                   'Many(number = 4000, name = "many", weight = 2.5)', reproduced=("Last", "Work", "Many"))
        self.fails("pushed", SEGV, *failed_work(5001, "on eight arguments"),
                   "Eight(a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 5000)", 'Push(name = "pushing", number = 6000)',
                   reproduced=("Last", "Work", "Eight", "Push"))


class Hardened(Situation):
    OUTER = 'Outer(number = 1000, name = "outer")'

    def check_fault(self):
        self.fails("fault", SEGV, *failed_work(1002, "in a protected frame"),
                   'Protected(number = 1001, name = "protected")', self.OUTER,
                   reproduced=("Last", "Work", "Protected", "Outer"))

    def check_smashed(self):
        self.fails("smashed", ABRT, 'Smash(number = 1004, name = "smashing", far = true)',
                   'Overrun(number = 1003, name = "overrunning")', self.OUTER, reproduced=("Smash", "Overrun"))

    def test_debian(self):
        self.build("hardened", *DEBIAN)
        self.check_fault()
        self.check_smashed()

    def test_fortified(self):
        # Without optimisation nothing is checked.
        self.builds = tuple(build for build in BUILDS if build.level == "-O2")
        self.build("hardened", "-D_FORTIFY_SOURCE=3")
        self.fails("fortified", ABRT, 'Copy(number = 1002, text = "more than twenty-four letters")', self.OUTER,
                   reproduced=("Copy", "Outer"))

    def test_frame_pointers(self):
        self.build("hardened", "-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer")
        self.check_fault()

    def test_no_frame_pointers(self):
        self.build("hardened", "-fomit-frame-pointer")
        self.check_fault()


if __name__ == "__main__":
    harness.main()
