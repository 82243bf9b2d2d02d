"""Programs of tests/e2e/stack: built plain and with recrash, compared where they end well, asked for every frame
where they fail."""

import json
import pathlib
import signal

import harness

FOLDER = pathlib.Path(__file__).resolve().parent / "stack"
PLAIN = f"clang++-{harness.LLVM}"


class Build:
    """One way to compile: the optimisation that the plain build shares, and what recrash does."""

    def __init__(self, name, level, mode):
        self.name, self.level, self.mode = name, level, mode
        self.flags = (level, f"-recrash-mode={mode}")
        self.learns = "second-chance" in mode  # a first failure names the functions to watch in the next run


OPTIMISED = Build("O2", "-O2", "references")
BUILDS = (OPTIMISED, Build("O0", "-O0", "references"), Build("full", "-O2", "full"),
          Build("chance", "-O2", "references+second-chance"))


def call(frame):
    """`Work(number = 3, name = "abc")`; what is not known has a question mark."""
    parameters = ", ".join(f"{p['name']} = {p['value'] if p['complete'] else '?'}" for p in frame["parameters"])
    return f"{harness.short_name(frame['function'])}({parameters})"


class Situation(harness.Workspace):
    builds = BUILDS
    folder = FOLDER
    libraries = ()  # for the linker

    def build(self, name, *flags, prefix=()):
        """Every build of a program, and its plain build, which behaves the same in a run that ends well. `flags` are for
        both; so is `prefix`, the words before a program on its command line."""
        self.prefix = prefix
        self.programs, self.plain = {}, {}
        for build in self.builds:
            if build.level not in self.plain:
                self.plain[build.level] = self.compile_situation(PLAIN, name, f"plain{build.level}",
                                                                 (build.level, *flags))
            self.programs[build] = self.compile_situation("recrash-clang++", name, f"{name}-{build.name}",
                                                          (*build.flags, *flags))
            self.ends_well(build)

    def compile_situation(self, compiler, name, output, flags):
        self.run_command(*harness.ONCE, compiler, "-std=c++20", "-g", "-pthread", f"-I{FOLDER}", *flags, self.folder / f"{name}.cc",
                         *self.libraries, "-o", output)
        return self.path / output

    def ends_well(self, build):
        plain = self.run_command(*self.prefix, self.plain[build.level])
        ours = self.run_command(*self.prefix, self.programs[build])
        self.assertIn("total ", plain.stdout)  # stderr: nothing of ours either
        self.assertEqual((ours.stdout, ours.stderr), (plain.stdout, plain.stderr))

    def fails(self, word, died_of, *frames, reproduced=(), status=None, watched=("",)):
        """In each build: dies as its plain build does, and every frame is there with its arguments: `frames`, or for
        several reports a tuple of them each, for none nothing. In a build for second chance once more, with the
        functions of the first failure watched: those of `watched` ("": any) have their entry states then."""
        expected = frames if not frames or isinstance(frames[0], tuple) else (frames,)
        for build in self.builds:
            with self.subTest(word=word, build=build.name):
                reports = self.check_failure(build, word, -died_of if status is None else status, expected)
                if build is OPTIMISED and reproduced:
                    self.assert_reproduced(self.reproduce(self.programs[build], report=reports[-1]), *reproduced)
                if build.learns:
                    again = self.check_failure(build, word, -died_of if status is None else status, expected)
                    entered = {harness.short_name(frame["function"]) for report in again
                               for frame in self.frames(report) if frame["entry_state"]}
                    self.assertLessEqual(set(watched), entered | ({""} if entered else set()))
                    self.ends_well(build)

    def check_failure(self, build, word, status, expected):
        reports = self.reports_of(build, word, status)
        self.assertEqual([self.monitored(report) for report in reports],
                         [[of_level(frame, build.level) for frame in each] for each in expected])
        return reports

    def reports_of(self, build, word, status):
        plain = self.run_command(*self.prefix, self.plain[build.level], word, expect=status)
        for old in self.reports.glob("*.rcr"):
            old.unlink()
        ours = self.run_command(*self.prefix, self.programs[build], word, expect=status)
        self.assertEqual(ours.stdout, plain.stdout)
        return sorted(self.reports.glob("*.rcr"), key=lambda report: report.stat().st_mtime_ns)

    def frames(self, report):
        return json.loads(self.run_command("recrash", "show", report, "--json", "-").stdout)["frames"]

    def monitored(self, report):
        """The frames with records of the situation's own functions: not main, lambdas or a library's templates."""
        return [call(frame) for frame in self.frames(report)
                if frame["monitored"] and frame["function"] != "main" and "::$_" not in frame["function"]
                and pathlib.Path(frame["file"]).parent in (FOLDER, self.path)]


SEGV, ABRT = signal.SIGSEGV, signal.SIGABRT


def of_level(frame, level):
    return frame if isinstance(frame, str) else frame[level]


def failed_work(number, name):
    """The two innermost frames of most situations."""
    return (f"Last(number = {number + 1}, place = nullptr)", f'Work(number = {number}, name = "{name}")')
