"""Small programs, a feature of C++ each (tests/e2e/cpp): the functions that their first lines name reproduce, and the version
without the bug ends well.

Quick runs some of them, built by clang. All runs every program, built by clang and by g++, at -O0 and at -O2:

  RECRASH_PREFIX=build/prefix tests/e2e/test_cpp.py All        RECRASH_CPP="tree locale" for some of them
"""

import os
import pathlib
import re
import sys

import harness

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "rebuilds"))
import small_programs

PROGRAMS = {program.name: program for program in small_programs.all_programs().values() if program.group == "cpp"}
QUICK = ("constructor", "move_only", "caller_locals", "held_mutex", "own_library", "c_callback", "file_stream", "rethrown",
         "bit_fields", "array_container")


def is_of(frame, name):
    """`operator` is that of a conversion; a lambda's is operator()."""
    return re.search(rf"(?<![\w~]){re.escape(name)}(?=[(<\[ ]|$)", frame["function"])


class Case(harness.Workspace):
    def build(self, program, compiler, level, macros=()):
        sources = [program.file]
        output = "-".join((program.name, compiler, level, *macros))
        command = [*harness.ONCE, self.compiler(program, compiler), *([] if program.is_c else ["-std=c++20"]), "-g", "-w", level,
                   *macros, *program.flags]
        if program.library:
            library = self.path / f"lib{output}.so"
            self.run_command(*command, "-DLIBRARY", "-fPIC", "-shared", program.file, "-o", library)
            sources += [library, "-Wl,-rpath,$ORIGIN"]
        self.run_command(*command, *sources, "-o", output)
        return self.path / output

    def compiler(self, program, compiler):
        if compiler == "g++":
            return "gcc" if program.is_c else "g++"
        return "recrash-clang" if program.is_c else "recrash-clang++"

    def arguments(self, program):
        if program.input is None:
            return ()
        (self.path / "input.txt").write_text(program.input)
        return ("input.txt",)

    def frames(self, program, executable, compiler):
        """The program's frames, as `recrash reproduce` has them, for a report of this run."""
        before = set(self.reports.glob("*.rcr")) if self.reports.exists() else set()
        prefix = ("recrash", "run", "--") if compiler == "g++" else ()
        self.run_command(*prefix, executable, *self.arguments(program), expect=None)
        new = set(self.reports.glob("*.rcr")) - before
        self.assertEqual(len(new), 1, f"{program.name} left {len(new)} reports")
        return self.reproduce(executable, "--rerun", report=new.pop(), expect=None)["frames"]

    def check(self, program, compiler, level):
        frames = self.frames(program, self.build(program, compiler, level), compiler)
        for name in dict.fromkeys(program.frames):
            found = [frame for frame in frames if is_of(frame, name) and not frame["inlined"]]
            # The optimiser may have taken the function away; at -O0 each is there.
            if found or level == "-O0":
                self.assertIn("reproduced", [frame["verdict"] for frame in found],
                              f"{name} of {program.name}\n{self.output.stdout}{self.output.stderr}")
        self.assertTrue(any(frame["verdict"] == "reproduced" for frame in frames), self.output.stdout)

    def check_fix(self, program, compiler, level):
        self.run_command(self.build(program, compiler, level, ("-DFIXED",)), *self.arguments(program), expect=0)


class Quick(Case):
    def test_the_named_frames_reproduce(self):
        for name in QUICK:
            for level in ("-O0", "-O2"):
                with self.subTest(program=name, level=level):
                    self.check(PROGRAMS[name], "clang", level)

    def test_the_fix_fixes(self):
        for name in QUICK:
            with self.subTest(program=name):
                self.check_fix(PROGRAMS[name], "clang", "-O0")


class All(Case):
    def test_every_program(self):
        for program in PROGRAMS.values():
            if program.name not in os.environ.get("RECRASH_CPP", program.name).split():
                continue
            for compiler in ("clang", "g++"):
                for level in ("-O0", "-O2"):
                    with self.subTest(program=program.name, compiler=compiler, level=level):
                        self.check(program, compiler, level)
                        self.check_fix(program, compiler, level)


if __name__ == "__main__":
    harness.main()
