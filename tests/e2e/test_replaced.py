"""A handler replaces an exception by another one, which nobody catches: what was called at the first throw gets tests, too."""

import signal

import harness

SOURCE = """
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

struct ParseError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

__attribute__((noinline)) int Digit(const std::string& text, unsigned long at) {
  const char c = text[at];
  if (c < '0' || c > '9') DIGIT
  return c - '0';
}

__attribute__((noinline)) int Number(const std::string& text) {
  int value = 0;
  for (unsigned long i = 0; i < text.size(); ++i) value = value * 10 + Digit(text, i);
  return value;
}

__attribute__((noinline)) int Load(const std::vector<std::string>& lines) {
  try {
    int sum = 0;
    for (const std::string& line : lines) sum += Number(line);
    return sum;
  } catch (const ParseError& error) {
    HANDLER
  }
}

__attribute__((noinline)) int Start(const std::vector<std::string>& lines) OUTER

int main() {
  std::vector<std::string> lines = {"12", "3x4"};
  std::printf("%d\\n", Start(lines));
}
"""

THROW = 'throw ParseError("not a digit: " + std::string(1, c));'
REPLACE = 'throw std::logic_error(std::string("cannot load: ") + error.what());'
CALL = "{ return Load(lines) + 1; }"
AGAIN = """{
  try {
    return Load(lines) + 1;
  } catch (const std::logic_error& error) {
    throw 7;
  }
}"""


def source(digit=THROW, handler=REPLACE, outer=CALL):
    return SOURCE.replace("DIGIT", digit).replace("HANDLER", handler).replace("OUTER", outer)


class Replaced(harness.Workspace):
    def make_tests(self, text, flags=("-O2", "-g")):
        program = self.compile_text(text, flags=flags)
        report = self.crash(program, died_of=signal.SIGABRT)
        return report, self.reproduce(program, report=report, build=True)

    def check(self, *frames):
        """Each of these has a test in the second folder that fails by the first exception; no other frame has one."""
        out = self.run_tests(directory="tests/replaced", expect=1).stdout
        for frame in frames:
            self.assertRegex(out, rf"FAILED  \] CrashTest\.DISABLED_Frame\d+_{frame}")
        self.assertEqual(out.count("[ RUN "), len(frames), out)
        self.assertEqual(out.count("happens again when"), len(frames), out)
        return out

    def test_what_was_called_at_the_first_throw_has_tests(self):
        report, result = self.make_tests(source())
        self.assert_reproduced(result, "Load", "Start", "main")
        self.assertIn("replaced ParseError (not a digit: x): a handler caught it, and threw this one",
                      self.run_command("recrash", "show", report).stdout)
        self.assertRegex(" ".join(result["notes"]),
                         r"before that a handler replaced ParseError \(not a digit: x\) in Digit at program.cc:\d+; "
                         r"2 tests of what was called then: .*tests/replaced/crash_test.cc")
        self.assertIn("replaced ParseError (not a digit: x) in Digit(", self.check("Digit", "Number"))
        text = (self.path / "tests/replaced/crash_test.cc").read_text()
        self.assertIn("a handler caught it and threw std::logic_error", text)
        self.assertIn("// Disabled: a handler caught the exception, and the fix may be there", text)
        # Nobody is troubled by them until they are asked for.
        self.assertIn("2 DISABLED TESTS", self.run_tests(directory="tests/replaced", disabled=False).stdout)
        # In other builds: red with the bug, green with a fix of the callee, and red with one of the handler.
        for flags in (("-O0", "-g"), ("-O3", "-g")):
            self.compile_text(source(), flags=flags)
            self.check("Digit", "Number")
        self.compile_text(source(handler="return error.what()[0];"))
        self.check("Digit", "Number")
        fixed = self.compile_text(source(digit="return 0;"), output="fixed")
        self.compile_text(source())
        self.run_command("recrash", "verify", self.path / "tests/replaced", "--fixed", fixed)
        out = self.run_tests("--program", fixed, directory="tests/replaced", disabled=False).stdout
        self.assertEqual(out.count("[       OK ]"), 2, out)

    # A fix that throws something else there: the handler gets that, and nobody knows what it makes of it.
    def test_another_exception_at_its_place_is_no_fix(self):
        def catching_all(text):
            return text.replace("const ParseError&", "const std::exception&")

        self.make_tests(catching_all(source()))
        self.compile_text(catching_all(source(digit='throw std::length_error("other");')))
        out = self.run_tests(directory="tests/replaced", expect=1).stdout
        self.assertNotIn("[       OK ]", out)

    # The message of the first is not known any more: its handler had ended.
    def test_the_first_of_several_counts(self):
        self.make_tests(source(outer=AGAIN))
        self.assertIn("replaced ParseError in Digit(", self.check("Digit", "Number"))

    def test_nothing_was_called_inside(self):
        throw = 'int sum = 0; if (lines.size() == 2) throw ParseError("two");'
        _, result = self.make_tests(source().replace("int sum = 0;", throw))
        self.assertIn("no tests of its throw: it was thrown by the function that caught it", " ".join(result["notes"]))
        self.assertFalse((self.path / "tests/replaced").exists())


if __name__ == "__main__":
    harness.main()
