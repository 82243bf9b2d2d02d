#!/usr/bin/env python3
"""What the instrumentation costs, and what a person would use instead of it costs: the same programs, the same work.

  tests/bench/bench.py [--quick] [--rounds N] [PROGRAM…]    build and measure what has no result yet
  tests/bench/bench.py --tables                             docs/measurements/benchmarks.md and its plot, from the results

Each program is built at -O2 in every variant (variants.py, subjects.py). Instructions are counted by cachegrind on a small work;
the large work is timed, the variants in turn within a round, each time as a ratio to plain of the same round; peak memory is that
of these runs. Sizes are of stripped programs; compile time is that of some of the program's files. What is built and measured is
kept in the work folder, by the content of what it came from: another pass means that the variants with recrash are built and measured
anew, the others stay. Results that the work folder has not are taken from docs/measurements/benchmarks/results.json.

Exit codes: 0; 1 a build or a run failed; 2 usage; 4 a source or package could not be had.
"""

import argparse
import json
import pathlib
import re
import signal
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/real"))  # recipes, sources and packages, the installed recrash

import builds
import debian
import inputs
import measure
import page
import variants
from builds import Build
from subjects import EMPTY, SUBJECTS, THREADS
from variants import TOOLS, VARIANTS

QUICK = ("pugixml", "fibonacci")
QUICK_VARIANTS = ("plain", "references", "full", "instrument-functions")
MEASURES = ("sizes", "instructions", "time", "compile", "tools", "threads")


def say(text):
    """A progress line: rewritten on a terminal, else one line each."""
    print(f"\r\033[K{text}" if sys.stderr.isatty() else text, end="" if sys.stderr.isatty() else "\n", file=sys.stderr, flush=True)


class Results:
    """The measures of one program, in a file that is written after each."""

    def __init__(self, file):
        self.file = file
        self.all = json.loads(file.read_text()) if file.exists() else {}

    def known(self, variant, kind, key):
        return self.all.get(variant, {}).get(kind, {}).get("key") == json.loads(json.dumps(key))

    def keep(self, variant, kind, key, **what):
        self.all.setdefault(variant, {})[kind] = {"key": key, **what}
        self.file.parent.mkdir(parents=True, exist_ok=True)
        half = self.file.with_suffix(".half")
        half.write_text(json.dumps(self.all, indent=1) + "\n")
        half.rename(self.file)


class Program:
    """One program in the variants that could be built, and what is known of it."""

    def __init__(self, work, name, subject, chosen, results):
        self.work, self.name, self.subject, self.results = work, name, subject, results
        self.chosen = chosen
        self.builds = {}
        self.failed = 0

    def build(self):
        for name in dict.fromkeys(VARIANTS[variant].build for variant in ("plain", *self.chosen)):
            build = Build(self.work, self.name, self.subject, name)
            try:
                build.ensure(say)
            except builds.BuildFailed as error:
                print(f"{self.name}: {error}", file=sys.stderr)
                self.failed += 1
                continue
            self.builds[name] = build

    def variants(self):
        """Those that are built, plain first."""
        return [name for name in dict.fromkeys(("plain", *self.chosen)) if VARIANTS[name].build in self.builds]

    def of(self, variant):
        return self.builds[VARIANTS[variant].build]

    def key(self, variant, *what):
        """A result is of the very program, in the state that it is shipped in, and of the work."""
        return [builds.digest(self.of(variant).stripped), *what]

    def went_wrong(self, variant, kind, key, error):
        print(f"{self.name} {variant}: {kind}: {error}", file=sys.stderr)
        self.results.keep(variant, kind, key, words=str(error))
        self.failed += 1

    def sizes(self):
        for variant in self.variants():
            self.results.keep(variant, "sizes", self.key(variant), **measure.sizes(self.of(variant)))

    def instructions(self):
        plain_output = None
        for variant in self.variants():
            key = self.key(variant, *self.subject.small)
            if self.results.known(variant, "instructions", key):
                continue
            if VARIANTS[variant].counted:
                self.results.keep(variant, "instructions", key, words=VARIANTS[variant].counted)
                continue
            say(f"{self.name}: counting instructions of {variant}")
            try:
                count, output = measure.instructions(self.of(variant), VARIANTS[variant], self.subject.small)
                if plain_output is None:
                    plain_output = output if variant == "plain" else measure.checked(self.of("plain"), self.subject.small, None)[0].output
                self.same_words(output, plain_output)
                self.results.keep(variant, "instructions", key, count=count)
            except measure.Failed as error:
                self.went_wrong(variant, "instructions", key, error)

    def same_words(self, output, plain_output):
        """Ratios mean something between programs that do the same."""
        if self.subject.says_the_same and output != plain_output:
            raise measure.Failed("it prints something else than the plain program")

    def time(self, rounds, work):
        """All variants whose times are not known, in turn, and plain with them in each round."""
        keys = {variant: self.key(variant, self.key("plain")[0], rounds, *work) for variant in self.variants()}
        wanted = [variant for variant in self.variants() if not self.results.known(variant, "time", keys[variant])]
        taken = {variant: [] for variant in wanted}
        outputs = {}
        for turn in range(rounds):
            running = [variant for variant in dict.fromkeys(("plain", *wanted)) if turn == 0 or not self.is_slow(taken.get(variant))]
            if set(running) <= {"plain"} and "plain" not in wanted:
                break
            first = turn % max(1, len(running))
            seen = {}
            for variant in running[first:] + running[:first]:
                say(f"{self.name}: timing {variant}, round {turn + 1} of {rounds}")
                try:
                    run, _ = measure.checked(self.of(variant), work, VARIANTS[variant])
                    outputs.setdefault(variant, run.output)
                    seen[variant] = run
                except measure.Failed as error:
                    self.went_wrong(variant, "time", keys[variant], error)
                    wanted = [other for other in wanted if other != variant]
            if "plain" not in seen:
                return
            for variant in [variant for variant in wanted if variant in seen]:
                taken[variant].append({"user": seen[variant].user, "plain": seen["plain"].user,
                                       "peak_kib": seen[variant].peak_kib, "plain_peak_kib": seen["plain"].peak_kib})
        for variant in wanted:
            try:
                self.same_words(outputs[variant], outputs["plain"])
                self.results.keep(variant, "time", keys[variant], rounds=taken[variant])
            except measure.Failed as error:
                self.went_wrong(variant, "time", keys[variant], error)

    @staticmethod
    def is_slow(taken):
        return bool(taken) and taken[0]["user"] > measure.SLOW * taken[0]["plain"] > 0

    def compile(self, rounds):
        """Each round compiles every file in every variant, one after the other."""
        chosen = {VARIANTS[variant].build: variant for variant in reversed(self.variants())}
        keys = {variant: [variants.identity(self.work, build)["compiler"], rounds, self.subject.includes, *self.subject.units]
                for build, variant in chosen.items()}
        wanted = [variant for variant in self.variants() if variant in keys and not self.results.known(variant, "compile", keys[variant])]
        if not wanted or not self.subject.units:
            return
        running = list(dict.fromkeys(("plain", *wanted)))
        taken = {variant: [] for variant in wanted}
        for turn in range(rounds):
            say(f"{self.name}: timing its compilation, round {turn + 1} of {rounds}")
            seconds = dict.fromkeys(running, 0.0)
            for unit in self.subject.units:
                for variant in running:
                    try:
                        seconds[variant] += measure.compile_seconds(self.of(variant), unit)
                    except measure.Failed as error:
                        return self.went_wrong(variant, "compile", keys[variant], error)
            for variant in wanted:
                taken[variant].append({"user": seconds[variant], "plain": seconds["plain"]})
        for variant in wanted:
            self.results.keep(variant, "compile", keys[variant], rounds=taken[variant])

    def tools(self):
        for name, tool in TOOLS.items():
            arguments = self.subject.tiny if tool.tiny else self.subject.small
            if tool.build not in self.builds or not arguments:
                continue
            build = self.builds[tool.build]
            key = [builds.digest(build.stripped), builds.digest(self.builds["plain"].stripped), *tool.command, *arguments]
            if self.results.known(name, "tool", key):
                continue
            say(f"{self.name}: under {name}")
            debian.install([tool.package])
            plain = [measure.checked(self.builds["plain"], arguments, None)[0] for _ in range(3)]
            usual = statistics.median(run.user + run.system for run in plain)
            run, errors = measure.run_work(build, arguments, None, prefix=tool.command, seconds=measure.TOOL_SECONDS,
                                           executable=build.stripped if tool.stripped else build.executable)
            if run.outcome == "timed out":
                self.results.keep(name, "tool", key, plain=usual, more_than=measure.TOOL_SECONDS)
            elif run.outcome != "exit status 0" or (self.subject.says_the_same and not tool.tiny and run.output != plain[0].output):
                self.results.keep(name, "tool", key, plain=usual, words=f"{run.outcome}: {last_words(errors)}")
            else:
                self.results.keep(name, "tool", key, plain=usual, seconds=run.user + run.system)


def last_words(errors):
    """What a tool said last: before that it may have said a lot."""
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    return lines[-1][:120] if lines else "nothing on stderr"


def runtime(work, chosen, results):
    """What is linked in, by a program that has nothing else, and memory for each thread."""
    empty, threads = (Program(work, name, subject, chosen, results) for name, subject in (("empty", EMPTY), ("threads", THREADS)))
    empty.build()
    threads.build()
    for variant in empty.variants():
        results.keep(variant, "empty", empty.key(variant), **measure.sizes(empty.of(variant)))
    empty.instructions()  # what starting takes
    for variant in threads.variants():
        key = threads.key(variant, measure.THREAD_COUNTS, measure.THREAD_RUNS)
        if results.known(variant, "threads", key):
            continue
        say(f"threads: {variant}")
        try:
            runs = {f"{count}{' throw' if throw else ''}": [measure.thread_memory(threads.of(variant), VARIANTS[variant], count, throw)
                                                           for _ in range(measure.THREAD_RUNS)]
                    for count in measure.THREAD_COUNTS for throw in (False, True)}
            results.keep(variant, "threads", key, runs=runs)
        except measure.Failed as error:
            threads.went_wrong(variant, "threads", key, error)
    return empty.failed + threads.failed


def summary(name, results):
    """One line a variant, as they come."""
    plain = results.all.get("plain", {})
    for variant, found in results.all.items():
        if variant in VARIANTS and variant != "plain":
            cells = []
            if "count" in found.get("instructions", {}) and "count" in plain.get("instructions", {}):
                cells.append(f"instructions {found['instructions']['count'] / plain['instructions']['count']:.3f}")
            if found.get("time", {}).get("rounds"):
                cells.append(f"time {statistics.median(turn['user'] / turn['plain'] for turn in found['time']['rounds']):.3f}")
            if found.get("compile", {}).get("rounds"):
                cells.append(f"compilation {statistics.median(turn['user'] / turn['plain'] for turn in found['compile']['rounds']):.3f}")
            print(f"{name:12} {variant:26} {', '.join(cells)}", flush=True)


def measure_program(program, options):
    chosen = options.measure or [kind for kind in MEASURES if not options.quick or kind != "tools"]
    for file in program.subject.inputs:
        inputs.ensure(program.work / "inputs", file)
    program.build()
    if "plain" not in program.builds or options.build_only:
        return
    if "sizes" in chosen:
        program.sizes()
    if "instructions" in chosen:
        program.instructions()
    if "time" in chosen:
        program.time(options.rounds, program.subject.small if options.quick else program.subject.large)
    if "compile" in chosen:
        program.compile(1 if options.quick else measure.COMPILE_ROUNDS)
    if "tools" in chosen:
        program.tools()


def published(result):
    """A measure without what it is known by and without the folders of this machine."""
    words = {"words": re.sub(r"(?<![\w.])/(?:[\w.+~-]+/)+", "", result["words"])} if "words" in result else {}
    return {name: value for name, value in (result | words).items() if name != "key"}


def gathered(folder, kept):
    """The measures of the work folder, and those in the file `kept` of which it has none."""
    found = json.loads(kept.read_text()) if kept.exists() else {}
    for file in sorted(folder.glob("*.json")):
        program = found.setdefault(file.stem, {})
        for variant, kinds in json.loads(file.read_text()).items():
            program.setdefault(variant, {}).update({kind: published(result) for kind, result in kinds.items()})
    order = {name: place for place, name in enumerate([*SUBJECTS, "runtime"])}
    return dict(sorted(found.items(), key=lambda item: order.get(item[0], len(order))))


def tables(folder):
    kept = ROOT / "docs/measurements/benchmarks/results.json"
    found = gathered(folder, kept)
    kept.parent.mkdir(exist_ok=True)
    kept.write_text(json.dumps(found, indent=1) + "\n")
    page.write(ROOT / "docs/measurements", found)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help=f"of {', '.join(SUBJECTS)} (default: all)")
    parser.add_argument("--quick", action="store_true",
                        help=f"{', '.join(QUICK)}, few variants, the small work, one round; kept apart")
    parser.add_argument("--rounds", type=int, help="of timing (default 5)")
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build/bench", help="keeps sources, inputs, builds, results")
    parser.add_argument("--variant", action="append", choices=VARIANTS, help="(default: all; plain is always there)")
    parser.add_argument("--measure", action="append", choices=MEASURES, help="(default: all)")
    parser.add_argument("--build-only", action="store_true")
    parser.add_argument("--tables", action="store_true", help="write docs/measurements/benchmarks.md, its plot and docs/measurements/benchmarks/results.json")
    options = parser.parse_args()
    options.rounds = options.rounds or (1 if options.quick else 5)
    work = options.work.resolve()
    folder = work / ("quick" if options.quick else "results")
    if options.tables:
        tables(folder)
        return 0
    for name in options.programs:
        if name not in SUBJECTS:
            parser.error(f"no program {name}; there are {', '.join(SUBJECTS)}")
    if options.rounds < 1:
        parser.error("--rounds must be at least 1")

    chosen = options.variant or (QUICK_VARIANTS if options.quick else list(VARIANTS))
    failed = missing = 0
    work.mkdir(parents=True, exist_ok=True)
    try:
        debian.install(["valgrind", "binutils"])
        if not options.build_only and "threads" in (options.measure or MEASURES):
            failed += runtime(work, chosen, Results(folder / "runtime.json"))
        for name in options.programs or (QUICK if options.quick else SUBJECTS):
            program = Program(work, name, SUBJECTS[name], chosen, Results(folder / f"{name}.json"))
            try:
                measure_program(program, options)
            except debian.Missing as error:
                print(f"bench.py: error: {name}: {error}", file=sys.stderr)
                missing += 1
                continue
            failed += program.failed
            summary(name, program.results)
    except debian.Missing as error:
        print(f"bench.py: error: {error}", file=sys.stderr)
        missing += 1
    return 1 if failed else 4 if missing else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("bench.py: ended by SIGTERM"))  # what it runs ends with it
    try:
        sys.exit(main())
    except subprocess.CalledProcessError as error:
        sys.exit(f"bench.py: error: {error}")
