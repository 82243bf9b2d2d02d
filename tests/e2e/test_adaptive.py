"""First chance: no profile, every function is watched, and the first crash has frames with the memory of their entry."""

import json
import signal

from harness import Workspace, main, short_name

# Jobs of some ten milliseconds, each of which enters Leaf ten million times; the last one's state has moved on when it
# crashes.
PROGRAM = r"""
#include <cstdio>
#include <cstdlib>

struct Job {
  int number;
  int left;
  int* sum;
};

__attribute__((noinline)) int Leaf(const Job& job, int value) {
  asm volatile("" : : : "memory");
  return job.number ^ value;
}

__attribute__((noinline)) void Finish(Job& job) {
  job.left = 0;
  *job.sum += job.number;
}

__attribute__((noinline)) int Run(Job& job) {
  int sum = 0;
  for (; job.left > 0; --job.left) {
    sum += Leaf(job, job.left);
    if (job.left == 1) Finish(job);
  }
  return sum;
}

int main(int, char** arguments) {
  int sum = 0;
  long total = 0;
  const int jobs = std::atoi(arguments[1]);
  for (int i = 1; i <= jobs; ++i) {
    Job job = {i, 10000000, i < jobs ? &sum : nullptr};
    total += Run(job);
  }
  std::printf("%ld\n", total + sum);
}
"""
FLAGS = ("-O2", "-g", "-recrash-mode=adaptive")


class Adaptive(Workspace):
    def entry_states(self, flags=FLAGS, options=""):
        program = self.compile_text(PROGRAM, flags=flags)
        self.report = self.crash(program, "40", died_of=signal.SIGSEGV, 
                                 env={"RECRASH_OPTIONS": options, "RECRASH_PROFILE": ""})
        shown = self.run_command("recrash", "show", self.report, "--program", program).stdout
        self.verdicts = {short_name(frame["function"]): (frame["verdict"], frame["entry_state"])
                         for frame in self.reproduce(program, report=self.report)["frames"]}
        return [line for line in shown.splitlines() if "entry state" in line and line.lstrip().startswith("#")]

    def test_the_first_crash_has_entry_states(self):
        self.assertNotEqual(self.entry_states(), [])
        # As at the crash there is nothing left to do, and it returns before it fails.
        self.assertEqual(self.verdicts["Run"], ("reproduced", True))

    def test_by_option_in_any_build_with_patchable_entries(self):
        flags = ("-O2", "-g", "-recrash-mode=references+second-chance")
        self.assertNotEqual(self.entry_states(flags, "adaptive=1"), [])
        self.assertEqual(self.entry_states(flags, ""), [])
        self.assertEqual(self.entry_states(FLAGS, "adaptive=0"), [])

    # By what came to the recorder and by its own accounts, which a busy machine does not change. Leaf is entered a hundred
    # million times a second, rests for longer and longer, and is asked again in between.
    def test_the_budget_holds_under_a_hot_function(self):
        program = self.compile_text(PROGRAM, flags=FLAGS)
        for options in ("adaptive=1", "adaptive=0"):  # and where a profile, of the first crash, names Leaf's callers
            profile = self.path / "hot.recrash-profile"
            profile.write_text("- - _Z4LeafRK3Jobi - -\n- - _Z3RunR3Job - -\n")
            report = self.crash(program, "100", died_of=signal.SIGSEGV,
                                env={"RECRASH_OPTIONS": options, "RECRASH_PROFILE": str(profile)})
            self.run_command("recrash", "show", report, "--program", program, "--json", "shown.json")
            figures = json.loads((self.path / "shown.json").read_text())["snapshots"]
            came = figures["taken"] + sum(figures[name] for name in figures if name.startswith("skipped_"))
            self.assertGreater(figures["entries"], 50000, figures)
            self.assertLess(came, 20000, figures)
            used = figures["process_cpu_ns"]
            self.assertLess(figures["entries_ns"], 0.05 * used + 5e6, figures)
            # The first second's part is there from the beginning, and the last snapshot may overdraw it by three.
            self.assertLess(figures["cpu_ns"] + figures["faults_ns"], 0.01 * used + 4 * 10e6, figures)

    def test_a_stack_overflow_is_the_programs(self):
        text = r"""
#include <pthread.h>
__attribute__((noinline)) int Down(volatile int* p) { return Down(p) + *p; }
void* Run(void* p) { return reinterpret_cast<void*>(static_cast<long>(Down(static_cast<int*>(p)))); }
int main(int count, char**) {
  if (count > 1) return Down(&count);
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 256 << 10);
  pthread_t thread;
  pthread_create(&thread, &small, Run, &count);
  pthread_join(thread, nullptr);
}
"""
        program = self.compile_text(text, flags=FLAGS)
        # Every entry comes to the recorder, which needs far more of the stack than the function; its first push needs
        # more than the function's last one left.
        for arguments in ((), ("here",)):
            report = self.crash(program, *arguments, died_of=signal.SIGSEGV, env={"RECRASH_OPTIONS": "snapshot_cpu=100,snapshot_memory=1"})
            shown = self.run_command("recrash", "show", report, "--program", program).stdout
            self.assertRegex(shown, r"(?m)^  #0 +Down\(")

    def test_says_that_there_is_nothing_to_watch(self):
        program = self.compile_text("int main() { return 0; }", flags=("-O2", "-recrash-mode=references"))
        result = self.run_command(program, env={"RECRASH_OPTIONS": "adaptive=1"})
        self.assertIn("adaptive: no entry is watched: none was built for that", result.stderr)


if __name__ == "__main__":
    main()
