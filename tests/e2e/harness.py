"""The words in which the whole-pipeline tests are told: a workspace, a program in it, its crash, its tests.

Everything runs in a temporary folder of the test's own, with the installed tools of $RECRASH_PREFIX, and nothing of it
is left behind.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

PREFIX = pathlib.Path(os.environ.get("RECRASH_PREFIX", "build/prefix")).resolve()
SOURCE = pathlib.Path(__file__).resolve().parents[2]
SAMPLES = SOURCE / "samples"
LLVM = os.environ.get("RECRASH_LLVM_VERSION", "19")  # that the pass was built for
TIMEOUT = 120
# What the tests compile is compiled once for all of them, where CTest says in which folder it is kept.
ONCE = ((SOURCE / "tests/compile_once", os.environ["RECRASH_TEST_PROGRAMS"]) if "RECRASH_TEST_PROGRAMS" in os.environ else ())


if "RECRASH_TEST_USER" in os.environ:
    ONCE = ()  # what is kept belongs to another user


class CommandFailed(AssertionError):
    pass


class Workspace(unittest.TestCase):
    """A test case with an empty folder, `self.path`, and a report store of its own."""

    maxDiff = None

    def setUp(self):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="recrash-e2e."))
        self.addCleanup(shutil.rmtree, self.path, ignore_errors=True)
        self.reports = self.path / "reports"
        self.environment = dict(os.environ)
        for name in list(self.environment):
            if name.startswith("RECRASH_") and name not in ("RECRASH_CLANG", "RECRASH_CLANGXX"):
                del self.environment[name]
        # A launcher such as ccache gives objects again without running the pass, which then writes no report.
        for language in ("C", "CXX"):
            self.environment.pop(f"CMAKE_{language}_COMPILER_LAUNCHER", None)
        self.environment["PATH"] = f"{PREFIX}/bin:{self.environment['PATH']}"
        self.environment["RECRASH_DIR"] = str(self.reports)
        self.environment["HOME"] = str(self.path)

    def run_command(self, *command, expect=0, cwd=None, timeout=TIMEOUT, env=None):
        """Runs a command and checks its status: a number, a signal as -SIGSEGV, or None for any."""
        result = subprocess.run(
            [str(word) for word in command], cwd=cwd or self.path, env={**self.environment, **(env or {})},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout)
        result.stdout = result.stdout.decode(errors="replace")
        result.stderr = result.stderr.decode(errors="replace")
        if expect is not None and result.returncode != expect:
            raise CommandFailed(f"{' '.join(map(str, command))}: status {result.returncode}, expected {expect}\n"
                                f"--- stdout\n{result.stdout}\n--- stderr\n{result.stderr}")
        return result

    def compile(self, *sources, output, flags=("-O2", "-g")):
        compiler = "recrash-clang" if str(sources[0]).endswith(".c") else "recrash-clang++"
        self.run_command(*ONCE, compiler, *flags, *sources, "-o", output)
        return self.path / output

    def compile_text(self, text, output="program", flags=("-O2", "-g"), suffix=".cc"):
        source = self.path / f"{output}{suffix}"
        source.write_text(text)
        return self.compile(source.name, output=output, flags=flags)

    def compile_sample(self, name, flags=("-O2", "-g")):
        source = self.path / f"{name}.cc"
        if not source.exists():
            shutil.copy(SAMPLES / name / f"{name}.cc", source)
        return self.compile(source.name, output=name, flags=flags)

    def fix_sample(self, name, flags=("-O2", "-g")):
        self.run_command("patch", "-sp1", "-i", SAMPLES / name / "fix.patch")
        return self.compile_sample(name, flags)

    def crash(self, program, *arguments, died_of, prefix=(), tries=300, env=None):
        """Runs the program until it dies of the signal; gives the path of the report that it left."""
        before = set(self.reports.glob("*.rcr")) if self.reports.exists() else set()
        for _ in range(tries):
            result = self.run_command(*prefix, program, *arguments, expect=None, env=env)
            if result.returncode == 0:
                continue
            self.assertEqual(result.returncode, -died_of, result.stderr)
            new = set(self.reports.glob("*.rcr")) - before
            self.assertEqual(len(new), 1, f"one report expected, found {sorted(new)}\n{result.stderr}")
            return new.pop()
        self.fail(f"{program} did not crash in {tries} runs")

    def reproduce(self, program, *options, report=None, build=False, expect=0, output="tests"):
        """`recrash reproduce`: gives what --json says."""
        words = ["recrash", "reproduce"] + ([report] if report else [])
        words += ["--program", program, "-o", output, "--force", "--json", "result.json", *options]
        if not build:
            words.append("--no-build")
        self.output = self.run_command(*words, expect=expect)
        return json.loads((self.path / "result.json").read_text())

    def run_tests(self, *options, directory="tests", expect=0, env=None, disabled=True):
        """The kept tests, with those that are disabled from the start: most of these cases are about replays."""
        also = ("--gtest_also_run_disabled_tests",) if disabled else ()
        return self.run_command(self.path / directory / "build" / "crash_test", *also, *options, expect=expect, env=env)

    def assert_reproduced(self, result, *functions):
        """Each of the named functions has a frame whose verdict is `reproduced`."""
        verdicts = {}
        for frame in result["frames"]:
            name = short_name(frame["function"])
            if verdicts.get(name) != "reproduced":
                verdicts[name] = frame["verdict"]
        for function in functions:
            self.assertEqual(verdicts.get(function), "reproduced",
                             f"{function} of {verdicts}\n{json.dumps(result, indent=1)}\n{self.output.stdout}")


def short_name(function):
    """`ns::Tree::Insert(Key const&)` -> `Insert`, lest the spelling of parameters and anonymous namespaces matter."""
    depth, end = 0, len(function)
    text = function.replace("(anonymous namespace)", "")
    cut = text.find("(")
    text = text[:cut] if cut > 0 else text
    out = ""
    for letter in text:
        if letter == "<":
            depth += 1
        elif letter == ">":
            depth -= 1
        elif depth == 0:
            out += letter
    return out.split("::")[-1].split(" ")[-1]


def become(user):
    """Only root can; elsewhere the test is skipped."""
    if os.geteuid() != 0:
        sys.exit(77)
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)


def main():
    signal.alarm(0)
    if user := os.environ.get("RECRASH_TEST_USER"):
        become(int(user))
    unittest.main(verbosity=2)
