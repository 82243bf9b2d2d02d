#!/usr/bin/env python3
"""Tests that were kept meet builds by another compiler, or at another level of optimisation."""

import signal

import harness

# With --rerun the tests start from entry states, in which the agent's handler of std::terminate is set. g++ knows no agent.
UNCAUGHT = """
#include <cstdio>
#include <stdexcept>
#include <vector>
__attribute__((noinline)) int Share(std::vector<int>& shares, unsigned which) {
#ifdef FIXED
  if (which >= shares.size()) return 0;
#endif
  return shares.at(which);
}
int main(int argc, char**) {
  std::vector<int> shares = {1, 2};
  std::printf("%d\\n", Share(shares, argc + 1));
}
"""


class OtherCompiler(harness.Workspace):
    def compile_anew(self, output, *flags, text, compiler="g++"):
        (self.path / "program.cc").write_text(text)
        self.run_command(compiler, "-std=c++20", "-g", *flags, "program.cc", "-o", output)
        return ("--program", self.path / output)

    def test_has_no_agent_to_handle_an_exception(self):
        program = self.compile_text(UNCAUGHT, flags=("-O0", "-g"))
        report = self.crash(program, died_of=signal.SIGABRT)
        result = self.reproduce(program, "--rerun", report=report, build=True)
        self.assert_reproduced(result, "Share", "main")
        for level in ("-O0", "-O2"):
            red = self.run_tests(*self.compile_anew("anew", level, text=UNCAUGHT), expect=1, disabled=False)
            self.assertIn("Frame", red.stdout)
            self.assertNotIn("SKIPPED", red.stdout)
            self.assertIn(": happens again", red.stdout)
            fixed = self.run_tests(*self.compile_anew("fixed", level, "-DFIXED", text=UNCAUGHT), disabled=False)
            self.assertNotIn("SKIPPED", fixed.stdout)


if __name__ == "__main__":
    harness.main()
