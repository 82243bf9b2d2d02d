"""Second chance without records: arguments that nothing has any more at the crash are those of the entry."""

import json
import signal

import harness

# By the time that it fails nothing has the arguments of Take any more: no register, no record, no call site.
GONE = r"""
int one = 1;
int* volatile place = &one;
template <typename T> T Hidden(T value) { asm volatile("" : "+r"(value)); return value; }
__attribute__((noinline)) int Take(int number, double weight, const char* name) {
  asm volatile("" : : "r"(number), "x"(weight), "r"(name));
  asm volatile("" : : : "rdi", "rsi", "xmm0");
  return *place + 1;
}
int main(int count, char** arguments) {
  place = nullptr;
  return Take(Hidden(41 + count), Hidden(2.5), Hidden(arguments[1])) + 1;
}
"""


class EntryRegisters(harness.Workspace):
    """A build that keeps no arguments has those of the frames that were watched."""

    def test_arguments_are_those_of_the_entry(self):
        program = self.compile_text(GONE, flags=("-O2", "-g", "-recrash-mode=second-chance"))
        taken = []
        for _ in range(2):
            report = self.crash(program, "abc", died_of=signal.SIGSEGV)
            shown = json.loads(self.run_command("recrash", "show", report, "--json", "-").stdout)
            take = next(frame for frame in shown["frames"] if harness.short_name(frame["function"]) == "Take")
            taken.append([parameter["value"] for parameter in take["parameters"] if parameter["complete"]])
        self.assertEqual(taken, [[], ["43", "2.5", '"abc"']])
        self.assert_reproduced(self.reproduce(program, report=report, build=False), "Take")


if __name__ == "__main__":
    harness.main()
