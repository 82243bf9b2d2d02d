"""Stacks tens of thousands of frames deep, and a million: what is shown, tried and written of them is bounded."""

import signal

import harness

# Two functions in turn: each is on the stack half of its frames.
OVERFLOW = """
struct Node { Node* next; int value; };
int Odd(const Node* node, int depth);
__attribute__((noinline)) int Even(const Node* node, int depth) {
  volatile char room = static_cast<char>(depth);
  return node->value + Odd(node->next, depth + 1) + room;
}
__attribute__((noinline)) int Odd(const Node* node, int depth) {
  volatile char room = static_cast<char>(depth);
  return Even(node->next, depth + 1) - room;
}
int main(int argc, char**) {
  Node ring{nullptr, argc};
  ring.next = &ring;
  return Even(&ring, 0);
}
"""

MILLION = """
struct Node { Node* next; int value; };
Node* volatile nowhere = nullptr;
__attribute__((noinline)) int Down(const Node* node, int depth) {
  volatile char room = static_cast<char>(depth);
  if (depth == 1000000) node = nowhere;
  return node->value + Down(node->next, depth + 1) + room;
}
int main(int argc, char**) {
  Node ring{nullptr, argc};
  ring.next = &ring;
  return Down(&ring, 0);
}
"""


def verdicts(result):
    return [(frame["index"], frame["verdict"], frame["note"]) for frame in result["frames"] if frame["verdict"]]


class DeepStacks(harness.Workspace):
    def count_tests(self):
        return (self.path / "tests/crash_test.cc").read_text().count("\nTEST(")

    def test_an_overflow_is_folded_and_few_tests_are_kept(self):
        program = self.compile_text(OVERFLOW)
        report = self.crash(program, died_of=signal.SIGSEGV)

        shown = self.run_command("recrash", "show", report).stdout
        self.assertRegex(shown, r"\n  \.\.\. \d{5,} more frames \.\.\.\n")
        self.assertRegex(shown, r"\n  #\d{5,} main  ")
        self.assertLess(shown.count("\n"), 200)

        self.run_command("recrash", "generate", report, "--program", program, "-o", "tests")
        self.assertLess(self.count_tests(), 12)

        result = self.reproduce(program, "--jobs", "1", report=report)
        self.assertEqual(len(verdicts(result)), 200)
        self.assertEqual({verdict for _, verdict, _ in verdicts(result)}, {"reproduced"})
        self.assertEqual(result["frames"][-1]["index"], len(result["frames"]) + result["skipped"] - 1)
        self.assertRegex(self.output.stdout, r"\n  \.\.\. \d{5,} more frames \.\.\.\n")
        # Four of each of the two, and main.
        self.assertEqual(result["tests"], 9)
        self.assertEqual(self.count_tests(), 9)
        self.assertEqual(sum(frame["test"] for frame in result["frames"]), 9)

        # Side by side as one after the other, and again from the folder alone.
        self.assertEqual(verdicts(self.reproduce(program, "--jobs", "8", report=report)), verdicts(result))
        again = self.run_command("recrash", "verify", "tests", "--no-build")
        self.assertIn("recrash: reproduced: SIGSEGV in ", again.stdout)
        self.assertEqual(self.count_tests(), 9)

    def test_max_frames_says_how_many_are_tried(self):
        program = self.compile_text(OVERFLOW)
        report = self.crash(program, died_of=signal.SIGSEGV)
        self.assertEqual(len(verdicts(self.reproduce(program, "--max-frames", "7", report=report))), 7)
        self.assertEqual(len(verdicts(self.reproduce(program, "--max-frames", "300", report=report))), 300)
        self.run_command("recrash", "verify", "tests", "--max-frames", "300", "--no-build")

    def test_a_million_frames_have_a_report_and_tests(self):
        program = self.compile_text(MILLION)
        large_stack = ("sh", "-c", 'ulimit -s 262144; exec "$0"')
        report = self.crash(program, died_of=signal.SIGSEGV, prefix=large_stack)
        self.assertRegex(self.run_command("recrash", "show", report).stdout, r"\n  #100000\d +main  ")
        result = self.reproduce(program, "--max-frames", "8", report=report)
        self.assertEqual({verdict for _, verdict, _ in verdicts(result)}, {"reproduced"})


if __name__ == "__main__":
    harness.main()
