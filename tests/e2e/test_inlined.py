"""Frames of functions that the compiler inlined: copies out of line in the program are called, or those of a twin."""

import re
import signal
import subprocess

import harness

TWIN = ("-O0", "-fno-inline", "-g")

# Everything below main is inlined into Fill, and has a copy since others may call it.
GRID = r"""
#include <cstdlib>
#include <cstring>

struct Cell { const char* label; long weight; };

class Grid {
 public:
  explicit Grid(long width);
  long Weigh(long column, long row) const;
  const Cell& At(long column, long row) const;

 private:
  long width_;
  Cell* cells_;
};

long LengthOf(const Cell& cell) { return cell.label[0] + cell.weight; }

Grid::Grid(long width) : width_(width), cells_(static_cast<Cell*>(calloc(width, sizeof(Cell)))) {}
const Cell& Grid::At(long column, long row) const { return cells_[row * width_ + column]; }
long Grid::Weigh(long column, long row) const { return LengthOf(At(column, row)) * 2; }

__attribute__((noinline)) long Fill(const Grid& grid, long row) { return grid.Weigh(1, row) + row; }

int main(int argc, char**) {
  Grid grid(4);
  return static_cast<int>(Fill(grid, argc - 1));
}
"""

# In a thread: a lambda, a reference to a temporary, a method in its class that gets a structure by value. The compiler took the
# closure and the temporary apart, so what refers to them has no arguments left.
WORKERS = r"""
#include <cstdio>
#include <thread>

namespace {

struct Span { const int* first; long count; };

class Sums {
 public:
  explicit Sums(long start) : total_(start) {}
  void Add(Span span) {
    for (long i = 0; i < span.count; ++i) total_ += span.first[i];
  }
  long total() const { return total_; }

 private:
  long total_;
};

void AddAll(Sums* sums, const int* values, const long& count) { sums->Add({values, count}); }

void Work(Sums* sums, const int* const* sources, long count) {
  const auto add = [sums](const int* source, long length) { AddAll(sums, source, length); };
  for (long i = 0; i < count; ++i) add(sources[i], 3);
}

}  // namespace

int values[] = {1, 2, 3};
const int* sources[] = {values, nullptr};

int main(int argc, char**) {
  Sums sums(argc);
  std::thread worker(Work, &sums, sources, 2);
  worker.join();
  std::printf("%ld\n", sums.total());
}
"""


# Next has taken the job before it fails. Run needs one word, which the crash still has.
QUEUE = r"""
struct Job { int cost; int Run(int speed) const { return cost * speed; } };
struct Queue { Job* jobs[4]; int next; };
__attribute__((noinline)) int Next(Queue& queue, int speed) {
  Job* job = queue.jobs[queue.next];
  queue.jobs[queue.next++] = queue.jobs[0];
  return job->Run(speed);
}
Job first{3};
int main(int argc, char**) {
  Queue queue{{&first, nullptr}, 0};
  return Next(queue, argc) + Next(queue, argc);
}
"""


# In the program nothing points to the sums any more, and the count goes down before the call's first instruction. The lambda has
# another number in the twin, which has the other one out of line as well.
LOST = r"""
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

struct Sums {
  std::vector<long> totals;
  const long* weights;
  long Weigh(long row, long count) const {
    long sum = 0;
    while (count-- > 0) sum += weights[row] * totals[row];
    return sum;
  }
};

long Apply(const Sums& sums, const char* what, long row) {
  const auto first = [&sums](long at) { return sums.totals[at]; };
  const auto weigh = [&sums, &first, what](long at) { return sums.Weigh(at, first(at) + what[0] - what[0]); };
  return weigh(row);
}

}  // namespace

int main(int argc, char**) {
  static const long weights[] = {2, 3};
  Sums good{std::vector<long>(3, argc + 2), weights}, bad{std::vector<long>(3, argc + 3), nullptr};
  long result = 0;
  std::thread worker([&good, &bad, &result] {
    for (const Sums* sums : {&good, &bad}) result += Apply(*sums, "weights", 1);
    std::printf("%ld\n", good.totals[0] + bad.totals[0]);
  });
  worker.join();
  std::printf("%ld\n", result);
}
"""


def inlined(result):
    """Readable name -> verdict of the inlined frames."""
    return {harness.short_name(f["function"]): f["verdict"] for f in result["frames"] if f["inlined"]}


class Copies(harness.Workspace):
    """The program has the functions out of line too."""

    def test_each_inlined_frame_has_a_test(self):
        program = self.compile_text(GRID, "grid")
        self.crash(program, died_of=signal.SIGSEGV)
        result = self.reproduce(program, build=True)
        self.assertEqual(inlined(result), {"LengthOf": "reproduced", "Weigh": "reproduced"})
        self.assert_reproduced(result, "Fill")
        tests = (self.path / "tests/crash_test.cc").read_text()
        self.assertIn("Is inlined in the program: this test calls the copy that the program has out of line.", tests)
        self.run_tests("--expect=fail")

    def test_they_pass_after_a_fix(self):
        program = self.compile_text(GRID, "grid")
        self.crash(program, died_of=signal.SIGSEGV)
        self.reproduce(program, build=True)
        self.compile_text(GRID.replace("cell.label[0]", "(cell.label ? cell.label[0] : 0)"), "grid")
        self.run_tests()


class Twins(harness.Workspace):
    """The program has them nowhere; a twin has them all."""

    def crash_workers(self):
        program = self.compile_text(WORKERS, "workers", flags=("-O2", "-g", "-pthread"))
        twin = self.compile("workers.cc", output="workers-twin", flags=(*TWIN, "-pthread"))
        self.crash(program, died_of=signal.SIGSEGV)
        return program, twin

    def test_without_a_twin_they_have_no_test(self):
        program, _ = self.crash_workers()
        result = self.reproduce(program)
        self.assertEqual(set(inlined(result).values()), {None})
        self.assertIn("the program has no copy of it", self.output.stdout)

    def test_each_inlined_frame_has_a_test_in_the_twin(self):
        program, twin = self.crash_workers()
        result = self.reproduce(program, "--twin", twin, build=True)
        verdicts = inlined(result)
        self.assertEqual(verdicts.get("Add"), "reproduced", f"{verdicts}\n{self.output.stdout}")
        self.assert_reproduced(result, "Work")
        tests = (self.path / "tests/crash_test.cc").read_text()
        self.assertEqual(len(re.findall(r"^TEST\(CrashTestInTwin, ", tests, re.MULTILINE)),
                         sum(verdict == "reproduced" for verdict in verdicts.values()))
        self.run_tests("--expect=fail")
        run = self.run_tests(expect=1)
        self.assertIn("CrashTestInTwin.", run.stdout)

    # Where their parts lie the report does not say: nothing is written, and the test decides nothing.
    def test_their_arguments_cannot_be_edited(self):
        program, twin = self.crash_workers()
        self.reproduce(program, "--twin", twin, build=True)
        source = self.path / "tests/crash_test.cc"
        text = source.read_text()
        source.write_text(re.sub(r"(_Add\) \{\n.*?)^  RECRASH_EXPECT", r'\1  frame.Set("span.count", 0);\n  RECRASH_EXPECT',
                                 text, flags=re.M | re.S))
        self.run_command("cmake", "--build", "tests/build", timeout=600)
        ran = self.run_tests("--gtest_filter=*_Add", expect=1).stdout
        self.assertRegex(ran, r"SKIPPED +\] CrashTestInTwin\.")
        self.assertIn("in the twin: cannot set span.count: the report does not say how its arguments lie", ran)

    # Each argument is what the source says: the twin was given it in a replay of the thread's first frame.
    def test_what_the_optimiser_has_lost_comes_from_the_twin(self):
        program = self.compile_text(LOST, "lost", flags=("-O2", "-g", "-pthread"))
        twin = self.compile("lost.cc", output="lost-twin", flags=(*TWIN, "-pthread"))
        self.crash(program, died_of=signal.SIGSEGV)
        result = self.reproduce(program, "--twin", twin, build=True)
        own = [frame for frame in result["frames"] if frame["own"] and frame["file"].endswith("lost.cc")]
        self.assertTrue(all(frame["test"] for frame in own), self.output.stdout)
        self.assertIn("Weigh", {harness.short_name(frame["function"]) for frame in own})
        tests = (self.path / "tests/crash_test.cc").read_text()
        weigh = tests[tests.index("Sums_Weigh)"):]
        self.assertIn("const long row = 1;", weigh)
        self.assertIn("const long count = 4;", weigh)
        apply = tests[tests.index("Apply)"):]
        self.assertIn('"weights"', apply)
        self.run_tests("--expect=fail")

    def test_those_that_the_fix_turned_green_in_the_twin_are_kept(self):
        program, twin = self.crash_workers()
        self.reproduce(program, "--twin", twin, build=True)
        fixed = WORKERS.replace("long total() const", "void Skip() {}\n  long total() const").replace(
            "add(sources[i], 3);", "if (sources[i]) add(sources[i], 3);").replace("i < span.count", "span.first && i < span.count")
        fixed_program = self.compile_text(fixed, "fixed", flags=("-O2", "-g", "-pthread"))
        fixed_twin = self.compile("fixed.cc", output="fixed-twin", flags=(*TWIN, "-pthread"))
        source = self.path / "tests/crash_test.cc"
        in_twin = lambda: re.findall(r"^TEST\(CrashTestInTwin, (\w+)\)", source.read_text(), re.MULTILINE)
        before = in_twin()
        said = self.run_command("recrash", "verify", "tests", "--fixed", fixed_program)
        self.assertEqual(in_twin(), before)
        self.assertIn("the twin, and", said.stderr)
        said = self.run_command("recrash", "verify", "tests", "--fixed", fixed_program, "--twin", fixed_twin)
        self.assertNotIn("the twin, and", said.stderr)
        for name in before:
            self.assertRegex(said.stdout, name.replace("DISABLED_", "") + " +turned green")
        self.assertFalse([name for name in in_twin() if name.startswith("DISABLED_")])

    def test_they_have_tests_too_if_the_program_is_run_again(self):
        program = self.compile_text(QUEUE, "queue")
        twin = self.compile("queue.cc", output="queue-twin", flags=TWIN)
        self.crash(program, died_of=signal.SIGSEGV)
        result = self.reproduce(program, "--rerun", "--twin", twin)
        self.assertIn("it failed in the same way", self.output.stderr)
        self.assertEqual(inlined(result), {"Run": "reproduced"})
        self.assert_reproduced(result, "Next")

    def test_gdb_shows_three_locals_in_the_twin(self):
        program, twin = self.crash_workers()
        result = self.reproduce(program, "--twin", twin, build=True)
        frame = next(f["index"] for f in result["frames"] if harness.short_name(f["function"]) == "Add")
        values = self.locals_of(frame, twin, {"this": None, "span": None, "i": None})
        self.assertIn("count = 3", values["span"])

    def locals_of(self, frame, twin, wanted):
        """Drives gdb by its machine interface: the values of locals where `recrash debug` has stopped."""
        process = subprocess.Popen(
            ["recrash", "debug", "tests", "--frame", str(frame), "--twin", str(twin), "--", "--interpreter=mi2"], cwd=self.path,
            env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        output, _ = process.communicate("-stack-info-frame\n-stack-list-variables --all-values\n-gdb-exit\n", timeout=harness.TIMEOUT)
        variables = dict(re.findall(r'\{name="(\w+)"(?:,arg="1")?,value="((?:[^"\\]|\\.)*)"', output))
        for name, value in wanted.items():
            self.assertIn(name, variables, output)
            self.assertNotIn("optimized out", variables[name], output)
            if value is not None:
                self.assertEqual(variables[name], value, output)
        return variables


if __name__ == "__main__":
    harness.main()
