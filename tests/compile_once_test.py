#!/usr/bin/env python3
"""compile_once gives what the compiler made before, and never when anything that it was made of has changed."""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

COMPILE_ONCE = pathlib.Path(__file__).resolve().parent / "compile_once"

# Counts its runs, and makes of a source what it says with the text of its header.
COMPILER = """#!/usr/bin/env python3
import pathlib, sys
words = sys.argv[1:]
with open({runs!r}, "a") as runs:
    runs.write(".")
source = next(word for word in words if word.endswith(".cc"))
if "bad" in pathlib.Path(source).read_text():
    sys.exit("error: bad")
if "odd" in pathlib.Path(source).read_text():
    print("warning: odd", file=sys.stderr)
made = pathlib.Path(source).read_text() + pathlib.Path("own.h").read_text()
pathlib.Path(words[words.index("-o") + 1]).write_text(made)
pathlib.Path(words[words.index("-MF") + 1] if "-MF" in words else "/dev/null").write_text(f"x.o: {{source}} \\\\\\n  own.h\\n")
"""


class CompileOnce(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.path = pathlib.Path(place.name)
        self.compiler = self.path / "bin/cc"
        self.compiler.parent.mkdir()
        self.compiler.write_text(COMPILER.format(runs=str(self.path / "runs")))
        self.compiler.chmod(0o755)
        self.plugin = self.path / "plugin.so"
        self.plugin.write_text("a plugin")
        self.folders = 0

    def runs(self):
        file = self.path / "runs"
        return len(file.read_text()) if file.exists() else 0

    def start(self, source, *flags, header=" header"):
        """The compiler on `source` in a folder of its own, as each test has one."""
        self.folders += 1
        folder = self.path / f"test{self.folders}"
        folder.mkdir()
        (folder / "own.h").write_text(header)
        (folder / "program.cc").write_text(source)
        return folder, subprocess.Popen([COMPILE_ONCE, self.path / "kept", self.compiler, *flags, f"-fpass-plugin={self.plugin}",
                                         "program.cc", "-o", "program"], cwd=folder, stderr=subprocess.PIPE, text=True)

    def made(self, *arguments, **named):
        folder, process = self.start(*arguments, **named)
        self.errors = process.communicate()[1]
        self.status = process.returncode
        return (folder / "program").read_text() if (folder / "program").exists() else None

    def test_the_same_is_compiled_once(self):
        self.assertEqual([self.made("one") for _ in range(3)], ["one header"] * 3)
        self.assertEqual(self.runs(), 1)

    def test_two_tests_at_a_time_wait_for_one_compiler(self):
        started = [self.start("one") for _ in range(4)]
        for folder, process in started:
            process.communicate()
            self.assertEqual((folder / "program").read_text(), "one header")
        self.assertEqual(self.runs(), 1)

    def test_another_source_header_or_flag_counts(self):
        for made, arguments, named in (("one header", ("one",), {}), ("two header", ("two",), {}), ("one header", ("one", "-O1"), {}),
                                       ("one other", ("one",), {"header": " other"}), ("one header", ("one",), {})):
            self.assertEqual(self.made(*arguments, **named), made)
        self.assertEqual(self.runs(), 5)  # the last too: of one command, what was made last is kept

    def test_another_plugin_or_compiler_counts(self):
        self.made("one")
        self.plugin.write_text("a plugin, rebuilt")
        self.made("one")
        self.assertEqual(self.runs(), 2)
        self.compiler.write_text(self.compiler.read_text().replace("made = ", 'made = "new " + '))
        self.assertEqual(self.made("one"), "new one header")
        library = self.path / "lib/recrash/agent.a"  # beside an installed compiler
        library.parent.mkdir(parents=True)
        library.write_text("an agent")
        self.made("one")
        self.assertEqual(self.runs(), 4)

    def test_what_fails_or_warns_is_not_kept(self):
        for _ in range(2):
            self.assertIsNone(self.made("bad"))
            self.assertEqual((self.status, self.errors), (1, "error: bad\n"))
            self.assertEqual(self.made("odd"), "odd header")
            self.assertEqual(self.errors, "warning: odd\n")
        self.assertEqual(self.runs(), 4)

    def test_what_was_lost_is_compiled_again(self):
        self.made("one")
        shutil.rmtree(self.path / "kept")
        self.assertEqual(self.made("one"), "one header")
        self.assertEqual(self.runs(), 2)


if __name__ == "__main__":
    unittest.main()
