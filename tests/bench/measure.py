"""The measures: what a run of a program takes, its instructions, its sizes, what compiling it takes, memory of threads."""

import collections
import json
import pathlib
import re
import shlex
import subprocess
import tempfile

import building
import variants

SECONDS = 1800  # for a run of the large work
TOOL_SECONDS = 300  # for a run of the small one under a tool
SLOW = 4  # times plain: one round of it is enough
COMPILE_ROUNDS = 5
THREAD_COUNTS = (1, 101)
THREAD_RUNS = 5

Run = collections.namedtuple("Run", "outcome user system peak_kib output")


class Failed(Exception):
    """A run did not end as it should; the text says which and how."""


def launch(work, command, environment, folder, seconds=SECONDS):
    """Runs a command in `folder` and gives what it took. Its output is kept, but for what the agent says of itself."""
    usage, said = folder / "usage.json", folder / "said"
    with said.open("wb") as output, (folder / "errors").open("wb") as errors:
        outcome = building.run([variants.compiled(work, "launch.c"), usage, *command], folder, environment, seconds, (output, errors))
    used = json.loads(usage.read_text()) if usage.exists() else {"user": 0, "system": 0, "peak_kib": 0}
    return Run(outcome, used["user"], used["system"], used["peak_kib"], said.read_bytes())


def run_work(build, arguments, variant=None, prefix=(), seconds=SECONDS, executable=None):
    """One run of a build, in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="run.", dir=build.home) as place:
        folder = pathlib.Path(place)
        out = folder / "out"
        out.mkdir()
        command = [*build.words(prefix, out), executable or build.stripped, *build.words(arguments, out)]
        environment = build.environment() | (variant.environment if variant else {})
        run = launch(build.work, command, environment, folder, seconds)
        # It is a measure's business to say what went wrong, and its words are gone with the folder.
        errors = (folder / "errors").read_text(errors="replace")
        return run, errors


def checked(build, arguments, variant, **how):
    run, errors = run_work(build, arguments, variant, **how)
    if run.outcome != "exit status 0":
        raise Failed(f"{run.outcome}: {' '.join(errors.split())[-300:] or 'nothing on stderr'}" if run.outcome != "timed out" else
                     f"took more than {how.get('seconds', SECONDS)} s")
    return run, errors


def instructions(build, variant, arguments):
    """Counted by cachegrind, of a stripped copy: valgrind 3.19 gives up on clang 19's debug information."""
    prefix = ("valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", *variant.valgrind)
    run, errors = checked(build, arguments, variant, prefix=prefix)
    found = re.search(r"I +refs: +([\d,]+)", errors)
    if not found:
        raise Failed(f"valgrind counted nothing: {errors[-300:]}")
    return int(found[1].replace(",", "")), run.output


def sizes(build):
    """Of the stripped program: the file, what is loaded of it, and of that the code."""
    listed = subprocess.run(["readelf", "-SW", build.stripped], stdout=subprocess.PIPE, check=True, text=True).stdout
    return {**sections(listed), "file": build.stripped.stat().st_size}


def sections(listed):
    """Allocated bytes in all, and those of .text, from what `readelf -SW` prints."""
    loaded = text = 0
    for line in listed.splitlines():
        # [Nr] Name Type Address Off Size ES Flg Lk Inf Al
        found = re.match(r" *\[ *\d+\] (\S+) +\S+ +[0-9a-f]{16} [0-9a-f]+ ([0-9a-f]+) [0-9a-f]+ +([A-Za-z]*) +\d+ +\d+ +\d+$", line)
        if found and "A" in found[3] and not ("T" in found[3] and ".tbss" in found[1]):
            loaded += int(found[2], 16)
            text += int(found[2], 16) if found[1] == ".text" else 0
    return {"loaded": loaded, "text": text}


def compile_seconds(build, unit):
    """User time of compiling one of its source files as it was compiled."""
    with tempfile.TemporaryDirectory(prefix="run.", dir=build.home) as place:
        folder = pathlib.Path(place)
        environment = build.environment()
        (unit, *includes) = build.words([unit, *shlex.split(build.subject.includes)], folder)
        command = [environment["CXX"], *shlex.split(environment["FLAGS"]), *includes, "-c", unit, "-o", folder / "unit.o"]
        run = launch(build.work, command, environment, folder)
        if run.outcome != "exit status 0":
            raise Failed(f"{unit} does not compile: {(folder / 'errors').read_text(errors='replace')[-400:]}")
        return run.user


def thread_memory(build, variant, count, throw):
    """Resident and virtual KiB of a process with so many threads."""
    run, _ = checked(build, (str(count), *(["throw"] if throw else [])), variant)
    return {key: int(re.search(rf"{field}:\s+(\d+) kB", run.output.decode())[1])
            for key, field in (("resident", "VmRSS"), ("virtual", "VmSize"))}
