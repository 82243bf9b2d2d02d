"""A frame's test in a debugger: it stops at the first line of the frame's function, with its arguments and locals."""

import json
import re
import select
import shutil
import signal
import subprocess
import time
import unittest

import harness

# Changes what lies beside it before it crashes.
SOURCE = """
#include <cstdio>
struct Item { int id; };
__attribute__((noinline)) int Read(const Item* item, int times) {
  int doubled = times * 2;
  const char* const name = "result.txt";
  std::remove("input.txt");
  if (std::FILE* file = std::fopen(name, "w")) std::fclose(file);
  return item->id + doubled - times;
}
__attribute__((noinline)) int Handle(const Item* item, int times) { return Read(item, times) + 1; }
int main(int argc, char** argv) { return Handle(reinterpret_cast<Item*>(argv[argc]), 20 + argc); }
"""


class GdbMachineInterface:
    """gdb as a front end drives it: commands in, records out."""

    def __init__(self, cwd, environment):
        self.process = subprocess.Popen(["gdb", "-q", "-nx", "--interpreter=mi2"], cwd=cwd, env=environment, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=0)
        self.output = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def do(self, command, until=rb"\^(done|running|error).*\n"):
        """Gives what came out until the pattern did."""
        start = len(self.output)
        self.process.stdin.write(command.encode() + b"\n")
        deadline = time.monotonic() + harness.TIMEOUT
        while not re.search(until, self.output[start:]):
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, deadline - time.monotonic()))
            got = self.process.stdout.read(65536) if ready else b""
            if not got:
                raise AssertionError(f"{command}: no {until}\n{self.output.decode(errors='replace')}")
            self.output += got
        return self.output[start:].decode(errors="replace")


class Debuggers(harness.Workspace):
    def setUp(self):
        super().setUp()
        self.program = self.compile_text(SOURCE)
        self.twin = self.compile_text(SOURCE, output="twin", flags=("-O0", "-fno-inline", "-g"))
        (self.path / "input.txt").write_text("kept")
        result = self.reproduce(self.program, "--twin", self.twin, report=self.crash(self.program, died_of=signal.SIGSEGV), build=True)
        self.assert_reproduced(result, "Read", "Handle")
        self.frame = next(str(f["index"]) for f in result["frames"] if harness.short_name(f["function"]) == "Read")
        (self.path / "result.txt").unlink()
        (self.path / "input.txt").write_text("kept")

    def assert_nothing_changed(self):
        self.assertFalse((self.path / "result.txt").exists())
        self.assertEqual((self.path / "input.txt").read_text(), "kept")

    def debug(self, *words):
        return self.run_command("recrash", "debug", "tests", "--frame", self.frame, *words).stdout

    def test_gdb_stops_at_the_first_line_and_what_follows_changes_no_file(self):
        out = self.debug("--", "-batch", "-ex", "info args", "-ex", "continue")
        self.assertRegex(out, r"Temporary breakpoint \d+, Read \(item=0x0, times=21\) at \w+\.cc:\d+")
        self.assertIn("received signal SIGSEGV", out)
        self.assertNotIn("not defined", out)
        self.assert_nothing_changed()

    def test_gdb_finds_a_disabled_test(self):
        fixed = self.compile_text(SOURCE.replace("return item->id", "return (item ? item->id : 0)"), output="fixed")
        self.run_command("recrash", "verify", "tests", "--fixed", fixed, expect=None)
        source = (self.path / "tests/crash_test.cc")
        source.write_text(source.read_text().replace(", Frame", ", DISABLED_Frame"))
        self.run_command("cmake", "--build", "tests/build")
        self.assertRegex(self.debug("--", "-batch"), r"Read \(item=0x0, times=21\)")

    def test_gdb_finds_debug_files_where_search_paths_lead(self):
        (self.path / "debug").mkdir()
        self.run_command("objcopy", "--only-keep-debug", self.program, "debug/elsewhere")
        self.run_command("eu-strip", "-o", "stripped", self.program)
        out = self.debug("--program", "stripped", "--search-path", self.path / "debug", "--", "-batch")
        self.assertRegex(out, r"Read \(item=0x0, times=21\) at \w+\.cc:\d+")

    @unittest.skipUnless(shutil.which("lldb") or shutil.which("lldb-19"), "needs lldb")
    def test_lldb_shows_the_locals_in_the_twin(self):
        out = self.debug("--debugger", "lldb", "--twin", self.twin, "--", "--batch", "-o", "frame variable", "-o", "next",
                         "-o", "next", "-o", "frame variable")
        self.assertRegex(out, r"Read\(item=0x0+, times=21\) at \w+\.cc:\d+")
        self.assertRegex(out, r"\(int\) doubled = 42")
        self.assertRegex(out, r'\(const char \*const\) name = 0x\w+ "result.txt"')

    @unittest.skipUnless(shutil.which("lldb") or shutil.which("lldb-19"), "needs lldb")
    def test_lldb_finds_debug_files_where_search_paths_lead(self):
        (self.path / "debug").mkdir()
        self.run_command("objcopy", "--only-keep-debug", self.program, "debug/elsewhere")
        self.run_command("eu-strip", "-o", "stripped", self.program)
        out = self.debug("--debugger", "lldb", "--program", "stripped", "--search-path", self.path / "debug", "--", "--batch")
        self.assertRegex(out, r"Read\(item=0x0+, times=21\) at \w+\.cc:\d+")

    def launch(self, name):
        """Does what VS Code's C++ extension does with a configuration of the launch file; gives the variables where it stops."""
        folder = self.path / "tests"
        text = (folder / ".vscode/launch.json").read_text().replace("${workspaceFolder}", str(folder))
        (configuration,) = (each for each in json.loads(text)["configurations"] if each["name"] == name)
        self.assertEqual((configuration["type"], configuration["request"], configuration["MIMode"]), ("cppdbg", "launch", "gdb"))
        with GdbMachineInterface(configuration["cwd"], self.environment) as gdb:
            for command in configuration["setupCommands"]:
                self.assertIn("^done", gdb.do(f"-interpreter-exec console {json.dumps(command['text'])}"))
            gdb.do(f"-environment-cd {configuration['cwd']}")
            gdb.do(f"-file-exec-and-symbols {configuration['program']}")
            gdb.do("-exec-arguments " + " ".join(configuration["args"]))
            stopped = gdb.do("-exec-run", until=rb"\*stopped.*\n")
            self.assertEqual(stopped.count("*stopped"), 1, stopped)
            self.assertRegex(stopped, r'\*stopped,reason="breakpoint-hit".*func="Read".*file="(program|twin)\.cc"')
            variables = gdb.do("-stack-list-variables --all-values")
            gdb.do("-exec-next", until=rb"\*stopped.*\n")
            after = gdb.do("-stack-list-variables --all-values")
            gdb.do("-exec-continue", until=rb'signal-name="SIGSEGV"')
        pairs = re.compile(r'\{name="(\w+)"(?:,arg="1")?,value="((?:[^"\\]|\\.)*)"')
        return dict(pairs.findall(variables)), dict(pairs.findall(after))

    def test_the_launch_file_stops_in_the_function(self):
        variables, _ = self.launch(f"Frame{self.frame}_Read")
        self.assertEqual((variables["item"], variables["times"]), ("0x0", "21"))
        self.assert_nothing_changed()

    def test_the_launch_file_shows_the_locals_in_the_twin(self):
        variables, after = self.launch(f"Frame{self.frame}_Read, in the twin")
        self.assertEqual((variables["item"], variables["times"]), ("0x0", "21"))
        self.assertEqual(after["doubled"], "42")
        self.assertNotIn("optimized out", str(variables) + str(after))


if __name__ == "__main__":
    harness.main()
