"""Programs that handle SIGSEGV themselves, say something and abort: what is reproduced is the fault."""

import signal

import harness

SOURCE = """
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
struct Box { int* slot; int count; };
extern "C" void OnFault(int, siginfo_t*, void*) {
  [[maybe_unused]] auto written = write(2, "this is a bug\\n", 14);
  abort();
}
__attribute__((noinline)) int Fail(Box* box) { BODY }
__attribute__((noinline)) int Outer(Box* box) { return Fail(box) + box->count; }
int main() {
  static char stack[1 << 16];
  stack_t alternate{};
  alternate.ss_sp = stack;
  alternate.ss_size = sizeof stack;
  sigaltstack(&alternate, nullptr);
  struct sigaction action {};
  action.sa_sigaction = OnFault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGSEGV, &action, nullptr);
  sigaction(SIGUSR1, &action, nullptr);
  Box box{nullptr, 0};
  return Outer(&box);
}
"""


class Handlers(harness.Workspace):
    def check(self, body, *functions):
        program = self.compile_text(SOURCE.replace("BODY", body))
        report = self.crash(program, died_of=signal.SIGABRT)
        result = self.reproduce(program, report=report, build=True)
        self.assertTrue(result["failure"].startswith("SIGSEGV"), result["failure"])
        self.assert_reproduced(result, *functions)
        self.run_tests(expect=1)
        return report

    def test_a_fault(self):
        report = self.check("return *box->slot;", "Fail", "Outer", "main")
        shown = self.run_command("recrash", "show", report).stdout
        self.assertIn("the program's own handler of SIGSEGV, OnFault, ended it by SIGABRT", shown)
        # The fix is one of the fault.
        self.compile_text(SOURCE.replace("BODY", "return box->slot ? *box->slot : 0;"))
        self.assertIn("[  PASSED  ]", self.run_tests().stdout)

    def test_a_stack_overflow(self):
        self.check("Box inner{box->slot, box->count + 1}; return Fail(&inner) + inner.count;", "Outer", "main")

    # Nothing faulted: the abort in the handler is the failure, and it happens again where the handler is installed again.
    def test_a_signal_that_was_sent(self):
        program = self.compile_text(SOURCE.replace("BODY", "if (!box->slot) raise(SIGUSR1); return box->count;"))
        result = self.reproduce(program, report=self.crash(program, died_of=signal.SIGABRT))
        self.assertTrue(result["failure"].startswith("SIGABRT"), result["failure"])
        self.assert_reproduced(result, "main")


if __name__ == "__main__":
    harness.main()
