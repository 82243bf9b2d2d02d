"""A report from elsewhere runs nothing unasked. One of the user's own works as ever."""

import ctypes
import os
import signal
import struct
import subprocess

import harness

PAYLOAD = """
#include <fcntl.h>
__attribute__((constructor)) static void Run(void) { open("%s", O_CREAT | O_WRONLY, 0600); }
"""
PROGRAM = """
__attribute__((noinline)) int Read(const int* target) { return *target + 1; }
int main() { return Read(nullptr) + 1; }
"""
HOST = """
#include <dlfcn.h>
__attribute__((noinline)) int Call(const char* name) {
  void* library = dlopen(name, RTLD_NOW);
  auto* use = reinterpret_cast<int (*)(int*)>(library ? dlsym(library, "Use") : nullptr);
  return use ? use(nullptr) + 1 : -1;
}
int main(int, char** argv) { return Call(argv[1]) + 1; }
"""
PLUGIN = """
__attribute__((noinline)) int Weigh(int* item) { return *item; }
extern "C" __attribute__((noinline)) int Use(int* item) { return Weigh(item) + 1; }
"""
# Calls a function that it has made itself, then fails.
COMPILER = r"""
#include <sys/mman.h>
#include <cstring>
__attribute__((noinline)) int Fail(const int* target) { return *target; }
__attribute__((noinline)) int Run(int (*made)(), const int* target) { return made() == 7 ? Fail(target) + 1 : 0; }
int main(int argc, char**) {
  void* code = mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::memcpy(code, "\xb8\x07\x00\x00\x00\xc3", 6);  // mov $7, %eax; ret
  return Run(reinterpret_cast<int (*)()>(code), argc > 5 ? &argc : nullptr) + 1;
}
"""


class FromElsewhere(harness.Workspace):
    def setUp(self):
        super().setUp()
        self.mark = self.path / "has_run"

    def make_foreign(self):
        """What this machine knows of its own reports is gone, as on another machine."""
        (self.path / ".local/state/recrash/own-reports").unlink()

    def compile_payload(self):
        folder = self.path / "payload"
        folder.mkdir()
        (folder / "payload.c").write_text(PAYLOAD % self.mark)
        subprocess.run(["cc", "-shared", "-fPIC", "payload.c", "-o", "payload.so"], cwd=folder, check=True)
        return folder / "payload.so"

    def compile_plugin(self):
        (self.path / "elsewhere").mkdir()
        (self.path / "bin").mkdir()
        plugin = self.compile_text(PLUGIN, output="plugin.so", flags=("-O2", "-g", "-shared", "-fPIC"))
        program = self.compile_text(HOST, output="host")
        return program.rename(self.path / "bin/host"), plugin.rename(self.path / "elsewhere/plugin.so")

    def test_preloads_of_its_environment_are_dropped_and_named(self):
        program = self.compile_text(PROGRAM)
        report = self.crash(program, died_of=signal.SIGSEGV, env={"LD_PRELOAD": str(self.compile_payload())})
        self.mark.unlink()
        self.make_foreign()
        result = self.reproduce(program, "--rerun", "--yes", report=report)
        self.assertFalse(self.mark.exists())
        self.assert_reproduced(result, "Read", "main")
        self.assertIn("run again, it failed in the same way", self.output.stderr)
        self.assertRegex(self.output.stderr, "without what can make a program run other code: .*LD_PRELOAD")

    def test_it_is_not_run_again_without_consent(self):
        program = self.compile_text(PROGRAM)
        (self.path / "input").write_text("x")
        report = self.crash(program, "input", died_of=signal.SIGSEGV, env={"GREETING": "\33]0;title\7 hello"})
        self.make_foreign()
        words = ("recrash", "reproduce", report, "--program", program, "--no-build", "-o", "tests", "--rerun")
        refused = self.run_command(*words, expect=4)
        self.assertIn("--rerun needs your consent", refused.stderr)
        self.assertRegex(refused.stderr, "arguments +.*program input")
        self.assertIn(f"files        {self.path}/input", refused.stderr)
        self.assertIn(r"GREETING=\x1b]0;title\x07 hello", refused.stderr)
        self.assertNotIn("\33", refused.stderr)
        self.assertIn("run again, it failed in the same way", self.run_command(*words, "--yes").stderr)
        for answer, ran in (("n", False), ("y", True)):
            out = self.at_a_terminal(words, answer)
            self.assertEqual("failed in the same way" in out, ran, out)

    def at_a_terminal(self, words, answer):
        """What comes out of a command at a terminal, where `answer` is typed."""
        out = self.path / "typescript"
        command = " ".join(map(str, words))
        subprocess.run(["script", "-qec", command, str(out)], input=answer.encode() + b"\n", cwd=self.path, env=self.environment,
                       stdout=subprocess.DEVNULL, timeout=harness.TIMEOUT)
        return out.read_text(errors="replace")

    def test_what_a_replay_is_is_said_first(self):
        program = self.compile_text(PROGRAM)
        report = self.crash(program, died_of=signal.SIGSEGV)
        self.reproduce(program, report=report)
        self.assertNotIn("not written on this machine", self.output.stderr)
        self.make_foreign()
        self.reproduce(program, report=report)
        self.assertTrue(self.output.stderr.startswith("recrash: the report was not written on this machine by you: replays run "
                                                      "code of the program"), self.output.stderr)

    def test_preloads_of_an_own_crash_stay(self):
        program = self.compile_text(PROGRAM)
        report = self.crash(program, died_of=signal.SIGSEGV, env={"LD_PRELOAD": str(self.compile_payload())})
        self.mark.unlink()
        self.reproduce(program, "--rerun", report=report)
        self.assertTrue(self.mark.exists())

    def test_its_program_is_run_only_if_it_is_named(self):
        program = self.compile_text(PROGRAM)
        report = self.crash(program, died_of=signal.SIGSEGV)
        words = ("recrash", "reproduce", report, "--no-build", "-o")
        self.run_command(*words, "own")
        self.make_foreign()
        refused = self.run_command(*words, "foreign", expect=4)
        self.assertIn("needed a program that you name", refused.stderr)
        self.assertIn("--program", refused.stderr)
        self.assertFalse((self.path / "foreign").exists())
        self.run_command(*words, "named", "--program", program)
        self.run_command(*words, "trusted", "--trust-report")

    def test_a_plugin_elsewhere_needs_a_search_path(self):
        program, plugin = self.compile_plugin()
        report = self.crash(program, plugin, died_of=signal.SIGSEGV)
        self.assert_reproduced(self.reproduce(program, report=report, build=True, output="own"), "Weigh", "Use")
        self.run_tests(directory="own", expect=1)
        self.make_foreign()
        result = self.reproduce(program, report=report, expect=None, output="foreign")
        self.assertNotIn("reproduced", [frame["verdict"] for frame in result["frames"]])
        self.assertIn("elsewhere/plugin.so is not run", self.output.stderr)
        self.assertIn(f"--search-path {plugin.parent}", self.output.stderr)
        for way_out in (("--search-path", plugin.parent), ("--trust-report",)):
            result = self.reproduce(program, *way_out, report=report, build=True)
            self.assert_reproduced(result, "Weigh", "Use")
            self.run_tests(expect=1)

    def test_a_plugin_beside_the_program_is_the_programs(self):
        program, plugin = self.compile_plugin()
        beside = plugin.rename(program.parent / plugin.name)
        report = self.crash(program, beside, died_of=signal.SIGSEGV)
        self.make_foreign()
        self.assert_reproduced(self.reproduce(program, report=report), "Weigh", "Use")
        # A folder that anybody may write into makes nothing in it the developer's.
        program.parent.chmod(0o777)
        self.reproduce(program, report=report, expect=None)
        self.assertIn("plugin.so is not run", self.output.stderr)

    def test_code_that_it_holds_is_not_run(self):
        program = self.compile_text(COMPILER)
        report = self.crash(program, died_of=signal.SIGSEGV)
        self.assert_reproduced(self.reproduce(program, report=report), "Fail", "Run")
        self.make_foreign()
        result = self.reproduce(program, report=report)
        self.assertEqual({harness.short_name(frame["function"]) for frame in result["frames"]
                          if frame["verdict"] == "reproduced"}, {"Fail", "main"})
        self.assertIn("code that the program made while it ran is not run", self.output.stderr)
        self.assert_reproduced(self.reproduce(program, "--trust-report", report=report), "Fail", "Run")

    def test_a_fifo_in_place_of_a_module_holds_nothing_up(self):
        program, plugin = self.compile_plugin()
        report = self.crash(program, plugin, died_of=signal.SIGSEGV)
        self.make_foreign()
        plugin.unlink()
        os.mkfifo(plugin)
        self.run_command("recrash", "show", report, "--program", program, timeout=20)
        self.run_command("recrash", "reproduce", report, "--program", program, "--no-build", expect=None, timeout=20)


WRITER = """
#include <cstdlib>
static bool again = false;
__attribute__((noinline)) int Write(const int* target) {
  if (again && std::system("touch PATH 2> /dev/null") == 0) return 7;
  again = true;
  return *target;
}
int main(int count, char**) { return Write(count > 5 ? &count : nullptr) + 1; }
"""


class InPlace(harness.Workspace):
    """Without a process of its own, as under a debugger, a replay is held as well."""

    def test_no_file_is_written(self):
        program = self.compile_text(WRITER.replace("PATH", str(self.path / "written")))
        report = self.crash(program, died_of=signal.SIGSEGV)
        self.reproduce(program, report=report, build=True)
        for options in ((), ("--recrash-in-process",)):
            self.run_tests(*options, expect=1)
            self.assertFalse((self.path / "written").exists(), options)
        for options in (("--no-sandbox",), ("--no-sandbox", "--recrash-in-process")):
            self.run_tests("--gtest_filter=*Write*", *options, expect=None)
            self.assertTrue((self.path / "written").exists(), options)
            (self.path / "written").unlink()

    def test_all_tests_run_one_after_the_other(self):
        program = self.compile_text(PROGRAM)
        (self.path / "input").write_text("x")
        report = self.crash(program, "input", died_of=signal.SIGSEGV, env={"RECRASH_OPTIONS": "files=embed"})
        self.reproduce(program, report=report, build=True)
        out = self.run_tests("--recrash-in-process", expect=1).stdout
        self.assertIn("[  FAILED  ] 2 tests", out)


# System calls with bits of their first argument, any of which is refused.
LANDLOCK = (444, 0xFFFFFFFF)  # landlock_create_ruleset, in its address: any
NAMESPACES, NUMBERS = (56, 0x7E020000), (56, 0x20000000)  # clone with CLONE_NEW…, with CLONE_NEWPID
# This machine has Landlock, and gives namespaces to users without rights.
IS_ALL_THERE = (ctypes.CDLL(None).syscall(LANDLOCK[0], 0, 0, 1) > 0 and
                subprocess.run(["unshare", "--user", "--net", "--ipc", "--pid", "--fork", "--mount-proc", "true"], stderr=subprocess.DEVNULL).returncode == 0)


def refuse(*calls):
    """From now on these system calls fail in this process and in what it starts, as on a machine that has them not."""
    load, jump_equal, jump_set, end = 0x20, 0x15, 0x45, 0x06
    number, first_argument = 0, 16
    allow, fail = 0x7FFF0000, 0x00050000 | 1  # EPERM
    steps = []
    for call, bits in calls:
        steps += [(load, 0, 0, number), (jump_equal, 0, 3, call), (load, 0, 0, first_argument), (jump_set, 0, 1, bits),
                  (end, 0, 0, fail)]
    steps.append((end, 0, 0, allow))
    filters = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(steps), ctypes.addressof(filters)))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl.argtypes = [ctypes.c_int] + [ctypes.c_ulong] * 4
    no_new_privileges, seccomp, by_filter = 38, 22, 2
    if libc.prctl(no_new_privileges, 1, 0, 0, 0) or libc.prctl(seccomp, by_filter, ctypes.addressof(program), 0, 0):
        raise OSError(ctypes.get_errno(), "the calls cannot be refused")


class Lacking(harness.Workspace):
    """What a machine lacks of the sandbox is said in one line by each command that replays."""

    def setUp(self):
        super().setUp()
        self.program = self.compile_text(PROGRAM)
        self.report = self.crash(self.program, died_of=signal.SIGSEGV)
        self.recrash = ("recrash", "reproduce", self.report, "--program", self.program, "-o", "tests", "--force")
        self.run_command(*self.recrash)

    def run_without(self, calls, *words, expect):
        """The lines about it of a command on a machine that lacks these calls."""
        result = subprocess.run([str(word) for word in words], cwd=self.path, env=self.environment, stdin=subprocess.DEVNULL,
                                capture_output=True, text=True, timeout=harness.TIMEOUT,
                                preexec_fn=(lambda: refuse(*calls)) if calls else None)
        self.assertEqual(result.returncode, expect, result.stderr)
        return [line for line in (result.stdout + result.stderr).splitlines() if "this machine" in line]

    def test_it_is_said_once_by_each_command(self):
        rows = (((LANDLOCK,), "no Landlock: the list of system calls alone keeps replays from changing files"),
                ((NAMESPACES,), "no namespaces: "), ((NUMBERS,), "no namespace of process numbers: "),
                ((LANDLOCK, NAMESPACES), "no Landlock and no namespaces: "))
        for calls, said in rows:
            for words, expect in ((self.recrash, 0), (("recrash", "verify", "tests"), 0), (("tests/build/crash_test",), 1)):
                with self.subTest(said=said, command=words[0:2]):
                    lines = self.run_without(calls, *words, expect=expect)
                    self.assertEqual(len(lines), 1, lines)
                    self.assertTrue(lines[0].startswith("recrash: this machine has " + said), lines)

    def test_nothing_is_said_where_nothing_is_missing(self):
        if IS_ALL_THERE:
            self.assertEqual(self.run_without((), *self.recrash, expect=0), [])

    def test_nothing_is_said_where_no_sandbox_is_wanted(self):
        self.assertEqual(self.run_without((LANDLOCK, NAMESPACES), *self.recrash, "--no-sandbox", expect=0), [])


if __name__ == "__main__":
    harness.main()
